import Archive
import Foundation
import MP4

/// Sparse recordings of more than four gigabytes, quick to write and without disk use: a hole follows their first
/// bytes.
package enum DistantRecording {
    /// Just beyond 32 bits.
    package static let hole: UInt64 = (1 << 32) + 64

    /// Moves everything after the first box of a growing recording behind the fourth gigabyte.
    ///
    /// That box, `ftyp`, is extended accordingly; nothing else in a growing recording depends on its file offset.
    package static func push(_ path: String) throws {
        let bytes = try Data(contentsOf: URL(filePath: path))
        let size = Int(bytes.prefix(4).reduce(0) { $0 << 8 | UInt64($1) })
        let length = UInt64(size) + hole
        var front = Data([0, 0, 0, 1]) + bytes[4..<8]
        front += Data((0..<8).map { UInt8(truncatingIfNeeded: length >> (56 - 8 * $0)) })
        front += bytes[8..<size]
        try front.write(to: URL(filePath: path))
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        try file.seek(toOffset: length)
        try file.write(contentsOf: bytes.suffix(from: size))
        try file.close()
    }

    /// Reverts a finished recording to a growing one.
    package static func reopen(_ path: String) throws {
        let (start, end) = try DescriptorSource.withFile(path) { source in
            let layout = try RecordingLayout(of: source)
            return (layout.placeholderOffset, layout.fragments.upperBound)
        }
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        try file.truncate(atOffset: UInt64(end))
        try file.seek(toOffset: UInt64(start))
        try file.write(
            contentsOf: Data([0, 0, 0, 16]) + Data("free".utf8) + Data(repeating: 0, count: 8))
        try file.close()
    }
}
