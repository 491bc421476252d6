import Media
import RTSP
import TestMedia
import Testing

@testable import RTSPServer

@Suite struct ServedPresentationTests {
    @Test func `our client of cameras parses the description`() throws {
        let presentation = ServedPresentation(
            name: "stage", formats: [ServedMedia.audio, ServedMedia.h264],
            extent: .recorded(durationNanoseconds: 83_500_000_000))
        let text = presentation.description
        #expect(text.contains("a=range:npt=0-83.500\r\n"))
        let read = try SessionDescription(parsing: Array(text.utf8))
        let tracks = try read.media.map { try CameraTrackDescription($0) }
        #expect(tracks.map(\.control) == ["trackID=0", "trackID=1"])
        #expect(tracks.map(\.payloadType) == [96, 97])
        #expect(tracks.map(\.clockRate) == [90_000, 48_000])
        guard case .video(.h264, let video?) = tracks[0].coding,
            case .video(let own) = ServedMedia.h264,
            case .audio(let audio) = tracks[1].coding,
            case .audio(let format) = ServedMedia.audio
        else {
            Issue.record("\(tracks)")
            return
        }
        #expect(video.parameterSets == own.parameterSets)
        #expect(
            audio == .init(AACPayload(format, sizeBits: 13, indexBits: 3, indexDeltaBits: 3)))
    }

    @Test func `our client can record every codec that is served`() throws {
        for format in try CodecFormats.all() {
            let presentation = ServedPresentation(name: "a", formats: [format], extent: .live)
            let read = try SessionDescription(parsing: Array(presentation.description.utf8))
            let track = try CameraTrackDescription(#require(read.media.first, "\(format)"))
            switch (track.coding, format) {
            case (.video(let codec, _), .video(let own)): #expect(codec == own.codec)
            case (.audio(let stream), .audio(let own)): #expect(stream.payload.format == own)
            default: Issue.record("\(format): \(track.coding)")
            }
        }
    }

    @Test func `live sources have no end`() {
        let live = ServedPresentation(name: "a", formats: [ServedMedia.h264], extent: .live)
        #expect(live.description.contains("a=range:npt=now-\r\n"))
        let growing = ServedPresentation(
            name: "a", formats: [ServedMedia.h264], extent: .recorded(durationNanoseconds: nil))
        #expect(growing.description.contains("a=range:npt=0-\r\n"))
    }
}
