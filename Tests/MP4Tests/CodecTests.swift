import MP4
import Media
import TestMedia
import Testing

/// Requirements of a recording on every codec.
@Suite struct CodecTests {
    @Test func `the description of every codec is read as it was written`() throws {
        for format in try CodecFormats.all() {
            let header = try FragmentedHeader(
                tracks: [RecordingTrack(format: format, mediaTimeShift: 0)],
                createdUnixSeconds: 1_790_000_000, timecode: nil)
            let track = try #require(
                try Movie.read(from: MemorySource(header.bytes)).track(format.kind))
            #expect(track.format == format)
        }
    }
}
