# For Doxygen: the plain comment at the head of a file describes the file; lines indented in it are code.
NR == 1 && /^\/\// { head = 1; sub(/^\/\/ ?/, "/// @file\n/// "); print; next }
head && /^\/\// { sub(/^\/\/   /, "///     "); sub(/^\/\/($|[^\/])/, "/// "substr($0, 3, 1)); print; next }
{ head = 0; print }
