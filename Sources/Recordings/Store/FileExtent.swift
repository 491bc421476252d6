/// A byte range of a local file, for sendfile(2).
package struct FileExtent: Hashable, Sendable {
    /// Valid while its file is referenced.
    package var descriptor: Int32
    /// Byte range in the file.
    package var range: Range<Int64>

    package init(descriptor: Int32, range: Range<Int64>) {
        self.descriptor = descriptor
        self.range = range
    }
}
