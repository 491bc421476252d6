/// Bytes that lie together in one file of a local disk, for the kernel to copy from (sendfile(2)).
package struct FileExtent: Hashable, Sendable {
    /// Valid as long as the file that it is of is referred to.
    package var descriptor: Int32
    /// Places in that file.
    package var range: Range<Int64>

    package init(descriptor: Int32, range: Range<Int64>) {
        self.descriptor = descriptor
        self.range = range
    }
}
