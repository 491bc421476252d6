import Archive
import ExportCore
import Foundation
import Library
import Media
import Recordings
import Testing
import TestMedia
import TestRecordings

/// Files generated while they are read.
@Suite(.enabled(if: MediaFiles.canBeMade, "ffmpeg makes the media")) struct VirtualMovieTests {
    @Test(
        arguments: [(nil, nil), (1.5, 2.0), (0.0, 0.5), (4.9, 100.0)]
            as [(Double?, Double?)])
    func `a virtual movie is byte for byte the export`(from: Double?, seconds: Double?) throws {
        let archive = try ImportedArchive()
        let range = try archive.range(from: from, seconds: seconds)
        try archive.export(range, to: "out.mp4") { $0.isFastStart = true }
        let file = Array(try Data(contentsOf: URL(filePath: archive.path("out.mp4"))))
        let movie = try VirtualMovie(range)
        #expect(movie.sizeBytes == file.count)
        #expect(try movie.read(from: 0, count: file.count + 7) == file)
        #expect(try movie.read(from: movie.sizeBytes, count: 5) == [])
        // In any division.
        var random = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            let start = Int.random(in: 0..<file.count, using: &random)
            let count = Int.random(in: 1...70_000, using: &random)
            #expect(
                try movie.read(from: Int64(start), count: count)
                    == Array(file[start..<min(file.count, start + count)]), "\(start) \(count)")
            // The part of it that is in memory.
            var cached = [UInt8](repeating: 0, count: count)
            let filled = cached.withUnsafeMutableBytes {
                movie.readCached(at: Int64(start), into: $0)
            }
            #expect(filled <= min(count, file.count - start))
            #expect(cached.prefix(filled) == file[start..<start + filled], "\(start) \(count)")
            // As sent by the kernel.
            let end = min(file.count, start + count)
            guard let extents = movie.extents(Int64(start)..<Int64(end)) else { continue }
            let sent = try extents.flatMap { try bytes(of: $0) }
            #expect(sent == Array(file[start..<end]), "\(start) \(count)")
        }
        #expect(movie.extents(0..<1) == nil, "the index is in memory")
        let last = try #require(movie.extents(movie.sizeBytes - 1..<movie.sizeBytes)?.first)
        #expect(try bytes(of: last) == file.suffix(1))
        #expect(movie.extents(movie.sizeBytes..<movie.sizeBytes + 1) == nil)
    }

    private func bytes(of extent: FileExtent) throws -> [UInt8] {
        let count = extent.range.count
        return try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            filled = pread(
                extent.descriptor, buffer.baseAddress, count, off_t(extent.range.lowerBound))
            try #require(filled == count)
        }
    }

    @Test func `equal recordings have equal tags, another range or retiming another one`() throws {
        let session = try WrittenSession { _ in 3_000_000 }
        func movie(from: Int64?) throws -> VirtualMovie {
            let recording = try RecordedSession(WrittenSession.name, in: session.layout)
            return try VirtualMovie(
                ExportRange(
                    source: try #require(recording.source("camera")),
                    sessionZero: recording.zero, startNanoseconds: from))
        }
        let first = try movie(from: nil).tag
        #expect(try movie(from: nil).tag == first)
        #expect(try movie(from: 1_000_000_000).tag != first)
        _ = try SessionRetimer(WrittenSession.name, in: session.layout).retime(isDryRun: false)
        #expect(try movie(from: nil).tag != first)
        _ = try SessionRetimer(WrittenSession.name, in: session.layout).undo(isDryRun: false)
        #expect(try movie(from: nil).tag == first)
    }

    @Test func `a movie over lost pictures continues with a BLA picture`() throws {
        let session = try WrittenSession(
            video: .video(try VideoFormat(.h265, parsing: H265Stream.sets)), keyframeHeader: 0x2A
        ) { $0 < 5_000_000_000 ? 0 : 3_000_000_000 }
        let recording = try RecordedSession(WrittenSession.name, in: session.layout)
        let range = ExportRange(
            source: try #require(recording.source("camera")), sessionZero: recording.zero)
        let movie = try VirtualMovie(range)
        let bytes = try movie.read(from: 0, count: Int(movie.sizeBytes))
        let keyframes = bytes.indices.dropLast(6).filter {
            bytes[$0..<$0 + 4] == [0, 0, 0, 3] && [0x20, 0x2A].contains(bytes[$0 + 4])
                && bytes[$0 + 5] % 20 == 0 && bytes[$0 + 6] == 7
        }
        #expect(
            keyframes.map { bytes[$0 + 4] } == Array(repeating: 0x2A, count: 5) + [0x20]
                + Array(repeating: 0x2A, count: 4))
        // In any division.
        for size in [1, 7, 100] {
            var parts: [UInt8] = []
            while parts.count < bytes.count {
                parts += try movie.read(from: Int64(parts.count), count: size)
            }
            #expect(parts == bytes, "\(size)")
        }
        let path = session.directory.appending(path: "out.mp4").path
        var options = MovieExport.Options()
        options.isFastStart = true
        var export = try MovieExport(
            range, to: OutputFile(path, overwrites: false), options: options,
            control: WorkControl())
        _ = try export.run()
        #expect(try FileSystem.read(path, limit: 1 << 24) == bytes)
    }

    @Test func `a range without media has no movie`() throws {
        let archive = try ImportedArchive()
        #expect(throws: ExportError.self) {
            try VirtualMovie(archive.range(from: 1_000, seconds: 5))
        }
    }
}
