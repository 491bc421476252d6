import Glibc
import Media
import MP4
import TestRecordings
import Testing

@testable import Archive

@Suite struct SegmentWriterTests {
    private static let video = VideoFormat.h264(
        sequenceParameterSets: [
            [0x67, 0x42, 0xC0, 0x0A, 0xDA, 0x0F, 0x0A, 0x69, 0xA8, 0x10, 0x10]
        ],
        pictureParameterSets: [[0x68, 0xCE, 0x06, 0xE2]], width: 16, height: 16)
    private static let plan = SegmentPlan(
        originNanoseconds: 0,
        tracks: [.init(format: .video(video), originTicks: 0, shiftTicks: 0)])
    private static let context = FragmentContext(
        spool: SpoolID(high: 1, low: 1), epoch: EpochID(high: UInt64(2), low: 0),
        clock: FragmentRecord.Clock(
            offsetNanoseconds: 0, boundNanoseconds: 1_000, skewPartsPerBillion: 0),
        collectorZeroNanoseconds: 0)

    /// Ten pictures of 25 bytes each: a length, and a slice.
    private func fragment(_ index: Int) -> FragmentPlan {
        var bytes: [UInt8] = []
        var samples: [PlannedSample] = []
        for picture in 0..<10 {
            let isKeyframe = picture == 0
            bytes += [0, 0, 0, 21, isKeyframe ? 0x65 : 0x41]
            bytes += (0..<20).map { UInt8(truncatingIfNeeded: index &* 31 &+ picture &* 7 &+ $0) }
            let time = Int64(index * 10 + picture) * 9_000
            samples.append(
                PlannedSample(
                    sizeBytes: 25, dts: time, pts: time, duration: 9_000,
                    flags: isKeyframe ? .keyframe : [], agentDTSNanoseconds: time * 100_000 / 9,
                    appliedOffsetNanoseconds: 0))
        }
        let run = PlannedRun(
            track: .video, firstSequence: UInt64(index * 10 + 1), samples: samples)
        return FragmentPlan(
            context: Self.context,
            pieces: [
                PlannedPiece(
                    payload: ArrayPayload(bytes), range: 0..<bytes.count,
                    digest: Digest(of: bytes), runs: [run])
            ])
    }

    private func write(_ path: String, fragments: Int, finished: Bool) throws {
        let writer = try SegmentWriter(
            path: path, plan: Self.plan,
            sessionZero: UTCTime(nanoseconds: 1_790_000_000_000_000_000))
        for index in 0..<fragments { try writer.append(fragment(index)) }
        if finished { try writer.finish() }
    }

    @Test func `a file is sound while it grows and when it is finished`() throws {
        let directory = TemporaryDirectory()
        for (finished, state) in [(false, FileReport.State.growing), (true, .finished)] {
            let path = "\(directory.path)/\(state.rawValue).mp4"
            try write(path, fragments: 3, finished: finished)
            let (report, sequences) = FileVerifier.verify(path)
            #expect(report.state == state)
            #expect(report.findings == [])
            #expect(report.tracks.first?.samples == 30)
            #expect(report.tracks.first?.keyframes == 3)
            #expect(report.digestedBytes == 750)
            #expect(sequences[Self.context.spool] == [1...10, 11...20, 21...30])
        }
    }

    @Test func `a file that another program has finished or extended is not finished`() throws {
        let directory = TemporaryDirectory()
        for (name, other) in [("a.mp4", "finishes"), ("b.mp4", "extends")] {
            let path = "\(directory.path)/\(name)"
            let writer = try SegmentWriter(
                path: path, plan: Self.plan,
                sessionZero: UTCTime(nanoseconds: 1_790_000_000_000_000_000))
            try writer.append(fragment(0))
            if other == "finishes" {
                try SegmentFinisher.finish(RecordingFile(reopening: path))
            } else {
                // The same content, with another fragment.
                let longer = "\(directory.path)/c.mp4"
                try write(longer, fragments: 2, finished: false)
                let bytes = try FileSystem.read(longer, limit: 1 << 20)
                let file = try RecordingFile(reopening: path)
                try file.append(Array(bytes[Int(file.sizeBytes)...]))
            }
            let before = try FileSystem.read(path, limit: 1 << 20)
            let error = #expect(throws: ArchiveError.self) { try writer.finish() }
            #expect(error?.isForContent == true, "\(other)")
            #expect(try FileSystem.read(path, limit: 1 << 20) == before, "\(other)")
        }
    }

    @Test func `every flipped byte of a finished file is found`() throws {
        let directory = TemporaryDirectory()
        let path = "\(directory.path)/a.mp4"
        try write(path, fragments: 3, finished: true)
        let bytes = try FileSystem.read(path, limit: 1 << 20)
        let movie = try DescriptorSource.withFile(path) { try RecordingLayout(of: $0) }
        let covered = Int(movie.initialMovie.header.offset)..<Int(movie.fragments.upperBound)
        var unnoticed: [Int] = []
        for position in Sweep.part(of: covered) {
            var damaged = bytes
            damaged[position] ^= 0x10
            let copy = "\(directory.path)/b.mp4"
            try FileSystem.replace(copy, with: damaged)
            if FileVerifier.verify(copy).report.isIntact { unnoticed.append(position) }
        }
        // No later digest covers the last fragment's head, but its own digests and the index cover everything except
        // the record's clock data.
        let lastMoof = try DescriptorSource.withFile(path) { source in
            var scanner = try FragmentScanner(source)
            var last = 0..<Int64(0)
            while let fragment = try scanner.next() { last = fragment.moof }
            return last
        }
        #expect(unnoticed.allSatisfy { lastMoof.contains(Int64($0)) }, "\(unnoticed)")
    }

    @Test func `an existing file is never overwritten`() throws {
        let directory = TemporaryDirectory()
        let path = "\(directory.path)/a.mp4"
        try write(path, fragments: 1, finished: true)
        #expect(throws: ArchiveError.self) { try write(path, fragments: 1, finished: true) }
        #expect(FileVerifier.verify(path).report.isIntact)
    }

    @Test func `a file without samples is not created`() throws {
        let directory = TemporaryDirectory()
        let path = "\(directory.path)/a.mp4"
        try write(path, fragments: 0, finished: true)
        #expect(try FileSystem.names(in: directory.path) == [])
        try write(path, fragments: 1, finished: false)
        #expect(try FileSystem.names(in: directory.path) == ["a.mp4"])
    }

    @Test func `a file cut anywhere keeps its whole fragments`() throws {
        let directory = TemporaryDirectory()
        let path = "\(directory.path)/a.mp4"
        try write(path, fragments: 3, finished: false)
        let bytes = try FileSystem.read(path, limit: 1 << 20)
        let starts = try DescriptorSource.withFile(path) { source in
            var scanner = try FragmentScanner(source)
            var ends = [Int(scanner.validEnd)]
            while let fragment = try scanner.next() { ends.append(Int(fragment.range.upperBound)) }
            return ends
        }
        for count in Sweep.part(of: starts[0]..<bytes.count + 1) {
            let copy = "\(directory.path)/b.mp4"
            try FileSystem.replace(copy, with: Array(bytes.prefix(count)))
            let (report, _) = FileVerifier.verify(copy)
            #expect(report.isIntact, "cut at \(count): \(report.findings)")
            #expect(report.fragments == starts.count { $0 <= count } - 1)
        }
    }
}
