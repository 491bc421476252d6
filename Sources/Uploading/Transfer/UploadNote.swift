import Archive
import FoundationEssentials

/// `<segment>.mp4.upload`: the identifier of a segment's upload.
///
/// It is on disk before anything is sent: removing the segment then also removes its objects, and a later upload can query which
/// parts the store has. It is deleted when the segment is proven.
struct UploadNote: Codable, Hashable, Sendable {
    private static let formatVersion = 1
    private static let maximumBytes = 1 << 16

    var format = Self.formatVersion
    /// `s3://BUCKET/PREFIX`.
    var store: String
    /// Nil: it is sent at once, or the upload has no name yet.
    var upload: String?
    var sizeBytes: Int64
    var modifiedNanoseconds: Int64
    var partBytes: Int64

    /// - Parameter stamp: the file's that is sent.
    init(store: String, upload: String?, stamp: FileStamp, partBytes: Int64) {
        self.store = store
        self.upload = upload
        sizeBytes = stamp.sizeBytes
        modifiedNanoseconds = stamp.modifiedNanoseconds
        self.partBytes = partBytes
    }

    /// Whether it describes this content, in parts of this size.
    func describes(_ stamp: FileStamp, partBytes: Int64) -> Bool {
        self.partBytes == partBytes && sizeBytes == stamp.sizeBytes
            && modifiedNanoseconds == stamp.modifiedNanoseconds
    }

    /// Reads a note; nil without a valid one: the content is then sent from its beginning.
    static func read(_ path: String, store: String) throws(ArchiveError) -> UploadNote? {
        guard FileSystem.exists(path) else { return nil }
        let bytes = try FileSystem.read(path, limit: maximumBytes)
        do {
            let note = try JSONDecoder().decode(UploadNote.self, from: Data(bytes))
            return note.format == formatVersion && note.store == store ? note : nil
        } catch {
            return nil
        }
    }

    /// Makes it durable.
    func write(_ path: String, on disk: any Disk) throws(ArchiveError) {
        let bytes = JSONDocument.bytes(of: self, isIndented: false)
        try FileSystem.replace(path, with: bytes, on: disk)
    }
}
