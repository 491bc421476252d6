import Foundation
import Testing

@testable import MP4

struct ByteSourceTests {
    @Test
    func `a file is read at any place, and not past its end`() throws {
        let scratch = try Scratch()
        let bytes = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 * 7) }
        let path = try scratch.write(bytes, to: "file")
        try DescriptorSource.withFile(path) { source throws in
            #expect(source.sizeBytes == 10_000)
            #expect(try source.read(at: 9_000, count: 1_000) == Array(bytes[9_000...]))
            #expect(try source.read(at: 10_000, count: 0).isEmpty)
            #expect(throws: MP4Error.shortRead(offset: 9_999, wanted: 2, got: 1)) {
                try source.read(at: 9_999, count: 2)
            }
        }
    }

    @Test
    func `an error has the system's errno`() throws {
        let scratch = try Scratch()
        #expect(throws: MP4Error.unreadable(offset: 0, errno: ENOENT)) {
            try DescriptorSource.withFile(scratch.path("nothing")) { _ throws in }
        }
        try DescriptorSource.withFile(scratch.directory.path) { source throws -> Void in
            #expect(throws: MP4Error.unreadable(offset: 0, errno: EISDIR)) {
                try source.read(at: 0, count: 1)
            }
        }
    }

    @Test
    func `a recording reads the same from a file as from memory`() throws {
        let scratch = try Scratch()
        let finished = try Recorder(.handmade()).finished()
        let path = try scratch.write(finished, to: "file.mp4")
        try DescriptorSource.withFile(path) { source throws in
            let memory = MemorySource(finished)
            #expect(
                try BoxTree(of: source, entersMediaData: true).boxes
                    == BoxTree(of: memory, entersMediaData: true).boxes)
            #expect(try Movie.read(from: source).tracks.map(\.samples.count) == [75, 141])
        }
    }
}
