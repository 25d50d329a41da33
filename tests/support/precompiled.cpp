// Exists for its precompiled headers, which all tests share.
int main() {}
