import Foundation
import Media
import Testing

@testable import MP4

/// The track that starts a file before its first picture or sound.
struct TimecodeTests {
    /// 2026-11-21T16:02:18.906Z.
    private static let instant: Int64 = 1_795_276_938_906_000_000

    @Test(arguments: [(25, 22), (30, 27), (240, 217)] as [(UInt32, UInt32)])
    func `frames are counted from midnight`(_ rate: UInt32, _ frame: UInt32) {
        let timecode = Timecode(startNanoseconds: Self.instant, framesPerSecond: rate)
        #expect(timecode.frame == (16 * 3_600 + 2 * 60 + 18) * rate + frame)
    }

    @Test func `a time before 1970 has a time of day`() {
        let timecode = Timecode(startNanoseconds: -1_000_000_000, framesPerSecond: 30)
        #expect(timecode.frame == (24 * 3_600 - 1) * 30)
    }

    @Test func `a usual picture rate of the stream is used, otherwise 25`() throws {
        func rate(_ set: [UInt8]) -> UInt32 {
            let format = VideoFormat.h264(
                sequenceParameterSets: [set], pictureParameterSets: [Samples.pps], width: 320,
                height: 180)
            return Timecode(startNanoseconds: 0, tracks: [.video(format)]).framesPerSecond
        }
        #expect(rate(Samples.thirtyPerSecondSPS) == 30)
        #expect(rate(Samples.baselineSPS) == 25)
        #expect(Timecode(startNanoseconds: 0, tracks: []).framesPerSecond == 25)
    }

    /// A clip that begins this many ticks of video after its file.
    private func finished(start: Int64, pictures: Int = 30) throws -> [UInt8] {
        try Recorder(
            .handmade(pictures: pictures, group: 10, start: start),
            timecode: Timecode(startNanoseconds: Self.instant, framesPerSecond: 30)
        ).finished()
    }

    @Test func `a file that begins before its pictures has a track that begins with it`() throws {
        let bytes = try finished(start: 12_960)
        let movie = try Movie.read(from: MemorySource(bytes))
        #expect(movie.tracks.map(\.handler) == ["vide", "soun", "tmcd"])
        let track = try #require(movie.tracks.last)
        #expect(track.id == 3 && track.kind == nil && track.format == nil)
        #expect(track.edits == [Edit(segmentDuration: movie.duration, mediaTime: 0)])
        #expect(track.samples.sizesBytes == [4])
        let place = Int(try #require(track.samples.offsets.first))
        let frame = bytes[place..<place + 4].reduce(0) { $0 << 8 | UInt32($1) }
        #expect(frame == (16 * 3_600 + 2 * 60 + 18) * 30 + 27)
        // The timecode track lasts as long as the file.
        let length = Double(movie.duration) / Double(movie.timescale.ticksPerSecond)
        #expect(Double(track.duration) / 30 >= length)
        #expect(Double(track.duration) / 30 <= length + 1.0 / 30)
        let initial = try RecordingLayout(of: MemorySource(bytes)).initialMovie
        #expect(try #require(initial.timecode).isTold(by: movie))
    }

    /// GStreamer ignores tracks whose media are declared shorter than a fifth of the movie.
    @Test func `a file that begins long before its pictures is played by GStreamer`() throws {
        let bytes = try finished(start: 90_000 * 60)
        var box = try #require(
            try BoxTree(of: MemorySource(bytes)).boxes.first { $0.type == "moov" })
        for type in ["trak", "mdia", "mdhd"] as [FourCC] {
            box = try #require(box.children.first { $0.type == type })
        }
        let declared = box.fields.first { $0.name == "duration" }?.value
        // Thirty pictures at 25 fps.
        #expect(declared == .unsigned((60 * 90_000 + 108_000) / 5))
        #expect(try Movie.read(from: MemorySource(bytes)).tracks[0].duration == 108_000)
        guard Tools.hasGStreamer else { return }
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).mp4")
        defer { try? FileManager.default.removeItem(at: path) }
        try Data(bytes).write(to: path)
        let outcome = try Tools.run(
            "gst-launch-1.0",
            ["-q", "filesrc", "location=\(path.path)", "!", "qtdemux", "!", "fakesink"])
        #expect(outcome.status == 0, "\(outcome.complaints)")
    }

    @Test func `a file that begins with a sample has a timecode track`() throws {
        for start in [0, 90] as [Int64] {
            let bytes = try finished(start: start)
            var movie = try Movie.read(from: MemorySource(bytes))
            #expect(movie.tracks.map(\.handler) == ["vide", "soun", "tmcd"])
            let told = try RecordingLayout(of: MemorySource(bytes)).initialMovie.timecode
            let timecode = try #require(told)
            #expect(timecode.isTold(by: movie))
            // As written by version 0.1.0.
            movie.tracks.removeLast()
            #expect(timecode.isTold(by: movie))
        }
    }

    @Test func `a missing or wrong timecode track is detected`() throws {
        let late = try finished(start: 12_960)
        let told = try RecordingLayout(of: MemorySource(late)).initialMovie.timecode
        let timecode = try #require(told)
        var movie = try Movie.read(from: MemorySource(late))
        movie.tracks.removeLast()
        #expect(!timecode.isTold(by: movie))
        movie = try Movie.read(from: MemorySource(late))
        let last = movie.tracks.count - 1
        movie.tracks[last].edits[0].mediaTime += 1
        #expect(!timecode.isTold(by: movie))
    }

    @Test func `a header whose timecode cannot be is refused`() throws {
        var bytes = try finished(start: 12_960)
        let place = try #require(
            bytes.indices.first { bytes[$0...].starts(with: Timecode.userType) })
        bytes[place + 16] = 0xFF
        #expect(throws: MP4Error.self) { try RecordingLayout(of: MemorySource(bytes)) }
    }
}

extension Samples {
    /// High, level 1.3, 320×192 cropped to 320×180; a tick of 1/60 s, as libx264 writes it.
    fileprivate static let thirtyPerSecondSPS: [UInt8] = [
        0x67, 0x64, 0x00, 0x1E, 0xAC, 0xB4, 0x0A, 0x0C, 0xFC, 0xF8, 0x0B, 0x50, 0x10, 0x10,
        0x14, 0x00, 0x00, 0x03, 0x00, 0x04, 0x00, 0x00, 0x03, 0x00, 0xF2, 0x3C, 0x58, 0xBA, 0x80,
    ]
}
