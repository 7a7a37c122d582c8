// In the place of utf8proc where it is not to be had: in builds for an emulator, which compute logits and read no text.
// Every character is one that Unicode does not know.
#include <utf8proc.h>

utf8proc_category_t utf8proc_category(utf8proc_int32_t) { return UTF8PROC_CATEGORY_CN; }
utf8proc_int32_t utf8proc_toupper(utf8proc_int32_t c) { return c; }
utf8proc_int32_t utf8proc_tolower(utf8proc_int32_t c) { return c; }
utf8proc_int32_t utf8proc_totitle(utf8proc_int32_t c) { return c; }
utf8proc_ssize_t utf8proc_iterate(const utf8proc_uint8_t*, utf8proc_ssize_t, utf8proc_int32_t*) {
  return UTF8PROC_ERROR_INVALIDUTF8;
}
utf8proc_ssize_t utf8proc_encode_char(utf8proc_int32_t, utf8proc_uint8_t*) { return 0; }
