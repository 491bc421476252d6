@testable import MP4
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

    @Test(arguments: [ConfigurationBox("avcC"), ConfigurationBox("vvcC", isFullBox: true)])
    func `a configuration is read as it was written`(_ box: ConfigurationBox) throws {
        var writer = BoxWriter()
        box.write([1, 2, 3], to: &writer)
        let header = Array(box.type.utf8) + Array(repeating: 0, count: box.isFullBox ? 4 : 0)
        #expect(writer.bytes == [0, 0, 0, UInt8(header.count + 7)] + header + [1, 2, 3])
        #expect(try box.configuration(in: BoxView(writer.bytes, at: 0)) == [1, 2, 3])
    }
}
