import Media
import Testing

@testable import MP4

@Suite struct FlatMovieTests {
    private static let video = TrackFormat.video(
        .h264(
            sequenceParameterSets: [
                [0x67, 0x42, 0xC0, 0x0A, 0xDA, 0x0F, 0x0A, 0x69, 0xA8, 0x10, 0x10]
            ],
            pictureParameterSets: [[0x68, 0xCE, 0x06, 0xE2]], width: 16, height: 16))

    /// A track of two chunks of three pictures with B-frames; the second one `distance` bytes behind the first.
    private static func track(distance: Int64) throws -> (FlatTrack, [FlatTrack.Table: [UInt8]]) {
        var track = FlatTrack(kind: .video, timescale: .video)
        var rows: [FlatTrack.Table: [UInt8]] = [:]
        for chunk in 0..<2 {
            try track.beginChunk(at: Int64(chunk) * distance, format: video)
            for picture in 0..<3 {
                let dts = Int64(chunk * 3 + picture) * 3_000
                try track.append(
                    FlatSample(
                        sizeBytes: UInt32(100 + picture), dts: 900_000 + dts,
                        pts: 900_000 + dts + [3_000, 9_000, 0][picture], duration: 3_000,
                        isSync: picture == 0))
            }
            // Rows may be read at any time.
            for table in FlatTrack.Table.allCases {
                rows[table, default: []] += track.takeRows(of: table)
            }
        }
        try track.finish()
        for table in FlatTrack.Table.allCases {
            rows[table, default: []] += track.takeRows(of: table)
        }
        return (track, rows)
    }

    private static func movie(
        distance: Int64, from start: Int64, mediaStart: Int64 = 48
    ) throws -> Movie {
        let (track, rows) = try track(distance: distance)
        let mediaEnd = mediaStart + distance + 306
        let parts = try FlatMovie(flavour: .mp4, createdUnixSeconds: 0).movie(
            [(track, .init(start: start, end: 918_000))],
            from: .init(ticks: start, timescale: .video), mediaEnd: mediaEnd)
        var bytes: [UInt8] = []
        for part in parts {
            switch part {
            case .bytes(let some): bytes += some
            case .rows(_, let table, let isWide):
                let some = rows[table] ?? []
                bytes +=
                    table == .offsets
                    ? FlatMovie.placed(some, from: mediaStart, isWide: isWide) : some
            }
        }
        #expect(Int64(bytes.count) == parts.reduce(0) { $0 + $1.sizeBytes([track]) })
        return try Movie(
            parsing: BoxView(bytes, at: 0), fileSizeBytes: mediaEnd + Int64(bytes.count))
    }

    @Test(arguments: [306, 5_000_000_000] as [Int64])
    func `an index is read back, also past 4 GiB`(_ distance: Int64) throws {
        let movie = try Self.movie(distance: distance, from: 903_000)
        let samples = try #require(movie.track(.video)).samples
        #expect(samples.sizesBytes == [100, 101, 102, 100, 101, 102])
        let places = [48, 148, 249] as [Int64]
        #expect(samples.offsets == places + places.map { $0 + distance })
        #expect(samples.dts == [0, 3_000, 6_000, 9_000, 12_000, 15_000])
        #expect((0..<3).map(samples.pts) == [3_000, 12_000, 6_000])
        #expect(samples.syncSamples == [0, 3])
    }

    @Test func `an edit list begins in the middle of the media, to the tick`() throws {
        let movie = try Self.movie(distance: 306, from: 907_001)
        let edits = try #require(movie.track(.video)).edits
        #expect(edits == [Edit(segmentDuration: 918_000 - 907_001, mediaTime: 7_001)])
    }

    @Test func `times that do not grow are refused`() throws {
        var track = FlatTrack(kind: .video, timescale: .video)
        try track.beginChunk(at: 0, format: Self.video)
        let sample = FlatSample(sizeBytes: 1, dts: 5, pts: 5, duration: 1, isSync: true)
        try track.append(sample)
        #expect(throws: MP4Error.decodingTime(track: .video, previous: 5, next: 5)) {
            try track.append(sample)
        }
    }
}
