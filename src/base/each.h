// SPATE_EACH(use, a, b, c, d, ...): use(a, b), use(c, d), ...: what a macro makes of each pair of
// its arguments, with commas between. Up to 64 pairs: each scan of the preprocessor takes 16.
#pragma once

#define SPATE_EACH(use, ...) __VA_OPT__(SPATE_SCAN(SPATE_EACH_1(use, __VA_ARGS__)))
#define SPATE_SCAN(...) SPATE_SCAN_1(SPATE_SCAN_1(SPATE_SCAN_1(__VA_ARGS__)))
#define SPATE_SCAN_1(...) __VA_ARGS__
#define SPATE_EACH_1(use, a, b, ...) use(a, b) __VA_OPT__(, SPATE_EACH_2(use, __VA_ARGS__))
#define SPATE_EACH_2(use, a, b, ...) use(a, b) __VA_OPT__(, SPATE_EACH_3(use, __VA_ARGS__))
#define SPATE_EACH_3(use, a, b, ...) use(a, b) __VA_OPT__(, SPATE_EACH_4(use, __VA_ARGS__))
#define SPATE_EACH_4(use, a, b, ...) use(a, b) __VA_OPT__(, SPATE_EACH_5(use, __VA_ARGS__))
#define SPATE_EACH_5(use, a, b, ...) use(a, b) __VA_OPT__(, SPATE_EACH_6(use, __VA_ARGS__))
#define SPATE_EACH_6(use, a, b, ...) use(a, b) __VA_OPT__(, SPATE_EACH_7(use, __VA_ARGS__))
#define SPATE_EACH_7(use, a, b, ...) use(a, b) __VA_OPT__(, SPATE_EACH_8(use, __VA_ARGS__))
#define SPATE_EACH_8(use, a, b, ...) use(a, b) __VA_OPT__(, SPATE_EACH_9(use, __VA_ARGS__))
#define SPATE_EACH_9(use, a, b, ...) use(a, b) __VA_OPT__(, SPATE_EACH_10(use, __VA_ARGS__))
#define SPATE_EACH_10(use, a, b, ...) use(a, b) __VA_OPT__(, SPATE_EACH_11(use, __VA_ARGS__))
#define SPATE_EACH_11(use, a, b, ...) use(a, b) __VA_OPT__(, SPATE_EACH_12(use, __VA_ARGS__))
#define SPATE_EACH_12(use, a, b, ...) use(a, b) __VA_OPT__(, SPATE_EACH_13(use, __VA_ARGS__))
#define SPATE_EACH_13(use, a, b, ...) use(a, b) __VA_OPT__(, SPATE_EACH_14(use, __VA_ARGS__))
#define SPATE_EACH_14(use, a, b, ...) use(a, b) __VA_OPT__(, SPATE_EACH_15(use, __VA_ARGS__))
#define SPATE_EACH_15(use, a, b, ...) use(a, b) __VA_OPT__(, SPATE_EACH_16(use, __VA_ARGS__))
#define SPATE_EACH_16(use, a, b, ...) \
  use(a, b) __VA_OPT__(, SPATE_EACH_AGAIN SPATE_NOTHING(use, __VA_ARGS__))
#define SPATE_EACH_AGAIN() SPATE_EACH_1
#define SPATE_NOTHING ()
