#ifndef CVIEWERPAGE_H
#define CVIEWERPAGE_H

#include <stddef.h>

/// A file that is part of the viewer's program.
struct CViewerPageFile {
    /// Without a folder, zero-terminated.
    const char *name;
    const unsigned char *bytes;
    size_t size;
};

/// The page's files, in `page/`: ``CViewerPage_count`` of them, sorted by name.
const struct CViewerPageFile *CViewerPage_files(void);
size_t CViewerPage_count(void);

/// The description of the HTTP interface, `proto/openapi.yaml`.
struct CViewerPageFile CViewerPage_openapi(void);

#endif
