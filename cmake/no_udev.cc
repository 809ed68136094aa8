// libhwloc.a asks udev for the names of disks, and Debian has no static libudev. Spate reads no
// devices through hwloc, so these are never called; if they were, hwloc takes a null for "no udev".

extern "C" {

void* udev_new();
void* udev_unref(void*);
void* udev_device_new_from_subsystem_sysname(void*, const char*, const char*);
const char* udev_device_get_property_value(void*, const char*);
void* udev_device_unref(void*);

void* udev_new() { return nullptr; }
void* udev_unref(void*) { return nullptr; }
void* udev_device_new_from_subsystem_sysname(void*, const char*, const char*) { return nullptr; }
const char* udev_device_get_property_value(void*, const char*) { return nullptr; }
void* udev_device_unref(void*) { return nullptr; }

}  // extern "C"
