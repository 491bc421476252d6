// libcurl's header. Swift does not import its variadic functions, so there is one shim for each argument type.
#ifndef TRIBUTARY_CCURL_SHIM_H
#define TRIBUTARY_CCURL_SHIM_H

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

static inline CURLcode CCurl_set_number(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode CCurl_set_size(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode CCurl_set_text(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode CCurl_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode CCurl_set_context(CURL *easy, CURLoption option, void *value) {
    return curl_easy_setopt(easy, option, value);
}

// For CURLOPT_READFUNCTION, CURLOPT_WRITEFUNCTION and CURLOPT_HEADERFUNCTION, whose callbacks have the same type.
static inline CURLcode CCurl_set_transfer(CURL *easy, CURLoption option, curl_write_callback call) {
    return curl_easy_setopt(easy, option, call);
}

static inline CURLcode CCurl_set_before_request(CURL *easy, curl_prereq_callback call) {
    return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, call);
}

static inline CURLcode CCurl_get_number(CURL *easy, CURLINFO what, long *value) {
    return curl_easy_getinfo(easy, what, value);
}

static inline CURLcode CCurl_get_size(CURL *easy, CURLINFO what, curl_off_t *value) {
    return curl_easy_getinfo(easy, what, value);
}

static inline CURLMcode CCurl_set_multi_number(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

#endif
