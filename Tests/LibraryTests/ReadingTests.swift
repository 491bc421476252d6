import Archive
import Foundation
import Glibc
import Library
import Media
import MP4
import Recordings
import Testing
import TestMedia
import TestRecordings

/// Reading recordings as one source's samples.
@Suite struct ReadingTests {
    private static let second = WrittenSession.second

    private func source(_ recorded: WrittenSession) throws -> RecordedSource {
        let session = try RecordedSession(WrittenSession.name, in: recorded.layout)
        return try #require(session.source("camera"))
    }

    private func samples(
        _ source: RecordedSource, from: Int64? = nil, to: Int64? = nil
    ) throws -> [RecordedSample] {
        var reader = SampleReader(source, from: from, to: to)
        var samples: [RecordedSample] = []
        while let sample = try reader.next() { samples.append(sample) }
        return samples
    }

    @Test func `samples of all files are read in order, with session times and bytes`() throws {
        let recorded = try WrittenSession { _ in 0 }
        let all = try samples(try source(recorded))
        #expect(all.count == 2 * 5 * 70)
        for (one, next) in zip(all, all.dropFirst()) {
            #expect(one.dtsNanoseconds <= next.dtsNanoseconds)
        }
        let pictures = all.filter { $0.track == .video }
        #expect(pictures.map(\.dtsTicks) == (0..<200).map { Int64($0) * 4_500 })
        #expect(pictures.enumerated().allSatisfy { $1.flags.contains(.keyframe) == ($0 % 20 == 0) })
        let packets = all.filter { $0.track == .audio }
        #expect(packets.map(\.dtsTicks) == (0..<500).map { Int64($0) * 960 })
        #expect(packets.allSatisfy { $0.durationTicks == 960 })
        #expect(try pictures[41].read() == [0, 0, 0, 3, 0x41, 41, 7])
        #expect(try packets[499].read() == [243, 1, 2])
        #expect(pictures[2].sequence == 8 && packets[5].sequence == 10)
    }

    @Test(arguments: [(0, 0x2A), (3, 0x20)] as [(gapSeconds: Int64, header: UInt8)])
    func `a CRA picture that begins a file after a gap is read as a BLA picture`(
        gapSeconds: Int64, header: UInt8
    ) throws {
        let recorded = try WrittenSession(
            video: .video(try VideoFormat(.h265, parsing: H265Stream.sets)), keyframeHeader: 0x2A
        ) { $0 < 5 * Self.second ? 0 : gapSeconds * Self.second }
        let pictures = try samples(try source(recorded)).filter { $0.track == .video }
        #expect(
            pictures.indices.filter { pictures[$0].beginsAnew } == (gapSeconds == 0 ? [] : [100]))
        #expect(try pictures[100].read() == [0, 0, 0, 3, header, 100, 7])
        for index in [0, 80, 101, 120] {
            #expect(
                try pictures[index].read()
                    == [0, 0, 0, 3, index % 20 == 0 ? 0x2A : 0x41, UInt8(index), 7])
        }
        // The file has what was recorded.
        let first = pictures[100]
        #expect(try first.file.read(at: first.offset, count: 7) == [0, 0, 0, 3, 0x2A, 100, 7])
    }

    @Test func `a fragment's pieces are the messages that came, proved by their digests`() throws {
        let recorded = try WrittenSession(segments: 1) { _ in 0 }
        var reader = FragmentReader(try source(recorded))
        var pieces = 0
        while let fragment = try reader.next() {
            #expect(fragment.record?.spool == SmallArchive.spool)
            for piece in fragment.pieces {
                pieces += 1
                let bytes = try fragment.file.read(
                    at: piece.range.lowerBound, count: piece.range.count)
                #expect(piece.digest == Digest(of: bytes))
                #expect(piece.runs.map(\.track) == [.video, .audio])
                #expect(piece.runs.map(\.samples.count) == [2, 5])
            }
        }
        #expect(pieces == 50)
    }

    @Test func `a retimed file is read with its new times`() throws {
        let recorded = try WrittenSession { max(0, 3_000_000 - $0 * 3 / 4_000) }
        let before = try samples(try source(recorded))
        _ = try SessionRetimer(WrittenSession.name, in: recorded.layout).retime(isDryRun: false)
        let after = try samples(try source(recorded))
        #expect(before.count == after.count)
        for (index, bytes) in try recorded.bytes().enumerated() {
            let origin = Int64(index * 5) * Self.second
            for kind in TrackKind.allCases {
                let times = try WrittenSession.times(bytes, kind).map { $0 + origin }
                let read = after.filter { $0.track == kind }.map(\.ptsNanoseconds)
                let part = read.dropFirst(index * times.count).prefix(times.count)
                // Each is rounded to nanoseconds for itself.
                #expect(zip(times, part).allSatisfy { abs($0 - $1) <= 1 }, "\(kind) \(index)")
            }
        }
    }

    @Test func `reading from a moment begins with the keyframe before it`() throws {
        let recorded = try WrittenSession { _ in 0 }
        let source = try source(recorded)
        let from = 5_720_000_000 as Int64
        let part = try samples(source, from: from, to: 7 * Self.second)
        let pictures = part.filter { $0.track == .video }
        #expect(pictures.first?.ptsNanoseconds == 5 * Self.second)
        #expect(pictures.last?.ptsNanoseconds == 6_950_000_000)
        let packets = part.filter { $0.track == .audio }
        #expect(packets.first?.ptsNanoseconds == 5_720_000_000)
        #expect(packets.last?.ptsNanoseconds == 6_980_000_000)
        // Just before the second file, the keyframe is in the first.
        let joint = try samples(source, from: 4_990_000_000)
        #expect(joint.first { $0.track == .video }?.ptsNanoseconds == 4 * Self.second)
        #expect(try samples(source, from: 11 * Self.second).allSatisfy { $0.track == .video })
        #expect(try samples(source, to: 0).isEmpty)
    }

    @Test func `a session's extent has its start, end and formats`() throws {
        let recorded = try WrittenSession { _ in 0 }
        let extent = try #require(try source(recorded).extent())
        #expect(extent.startNanoseconds == 0 && extent.endNanoseconds == 10 * Self.second)
        #expect(extent.formats.map(\.kind) == [.video, .audio])
    }

    @Test func `a growing file is read to its end, and further when it has grown`() throws {
        let recorded = try WrittenSession(segments: 1, finished: false) { _ in 0 }
        let path = try #require(try recorded.paths.first)
        let bytes = try FileSystem.read(path, limit: 1 << 24)
        // Torn in the middle of a fragment.
        try FileSystem.replace(path, with: Array(bytes[..<(bytes.count - 1_000)]))
        var reader = FragmentReader(try source(recorded))
        var fragments = 0
        while try reader.next() != nil { fragments += 1 }
        #expect(fragments < 5)
        let file = open(path, O_WRONLY | O_APPEND)
        #expect(write(file, Array(bytes.suffix(1_000)), 1_000) == 1_000)
        close(file)
        while try reader.next() != nil { fragments += 1 }
        #expect(fragments == 5)
    }

    @Test func `single files are read inside and outside an archive`() throws {
        let recorded = try WrittenSession { _ in 0 }
        let paths = try recorded.paths
        let inside = try RecordedSession(files: [paths[1]])
        #expect(inside.sources.map(\.name) == ["camera"])
        #expect(inside.sources[0].files[0].originNanoseconds == 5 * Self.second)
        let copy = recorded.directory.appending(path: "my clip.mp4").path
        try FileManager.default.copyItem(atPath: paths[0], toPath: copy)
        let outside = try RecordedSession(files: [copy])
        #expect(outside.sources.map(\.name) == ["my-clip"])
        #expect(try samples(outside.sources[0]).count == 350)
        #expect(outside.zero.fileName == WrittenSession.name)
    }

    @Test func `a file that is not a recording, or is incomplete, is refused in one line`() throws {
        let recorded = try WrittenSession { _ in 0 }
        let path = try #require(try recorded.paths.first)
        let bytes = try FileSystem.read(path, limit: 1 << 24)
        for (content, words) in [
            ([], "it is empty"), (Array("hello, world: nothing".utf8), "not a recorded segment"),
            (Array(bytes[..<2_000]), "ends before"),
        ] {
            try FileSystem.replace(path, with: content)
            do {
                _ = try samples(try source(recorded))
                Issue.record("\(words): read all the same")
            } catch let error as ArchiveError {
                #expect(error.description.contains(words), "\(error)")
                #expect(!error.description.contains("\n"))
            }
        }
    }
}
