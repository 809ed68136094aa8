// A wholly static program cannot load shared objects, yet libsqlite3.a names dlopen for its
// extensions, which we never load. SpateTargets.cmake has the linker turn those calls to these
// (--wrap), which say so at run time; glibc's would make every link print a warning. In static
// programs only.

extern "C" {

void* __wrap_dlopen(const char*, int);
void* __wrap_dlsym(void*, const char*);
int __wrap_dlclose(void*);
char* __wrap_dlerror();

void* __wrap_dlopen(const char*, int) { return nullptr; }
void* __wrap_dlsym(void*, const char*) { return nullptr; }
int __wrap_dlclose(void*) { return -1; }
char* __wrap_dlerror() {
  static char text[] = "this program is linked static and loads no shared objects";
  return text;
}

}  // extern "C"
