// Symbol visibility of the shared library: only what carries RILL_EXPORT can be linked to.
#pragma once

#if defined(_WIN32) && defined(RILL_BUILDING_SHARED)
#define RILL_EXPORT __declspec(dllexport)
#elif defined(_WIN32) && defined(RILL_SHARED)
#define RILL_EXPORT __declspec(dllimport)
#elif defined(__GNUC__)
#define RILL_EXPORT __attribute__((visibility("default")))
#else
#define RILL_EXPORT
#endif
