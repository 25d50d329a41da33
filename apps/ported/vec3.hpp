// Three coordinates.
#pragma once

namespace ported {

struct vec3 {
  double x = 0.0, y = 0.0, z = 0.0;

  vec3& operator+=(const vec3& other) {
    x += other.x;
    y += other.y;
    z += other.z;
    return *this;
  }
  vec3& operator-=(const vec3& other) {
    x -= other.x;
    y -= other.y;
    z -= other.z;
    return *this;
  }
  friend vec3 operator+(const vec3& a, const vec3& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
  friend vec3 operator-(const vec3& a, const vec3& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
  friend vec3 operator*(const vec3& a, double by) { return {a.x * by, a.y * by, a.z * by}; }
  friend double dot(const vec3& a, const vec3& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
};

}  // namespace ported
