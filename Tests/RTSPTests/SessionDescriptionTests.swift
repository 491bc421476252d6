import Media
import TestMedia
import Testing

@testable import RTSP

@Suite struct SessionDescriptionTests {
    private func description(_ lines: String...) throws -> SessionDescription {
        try SessionDescription(parsing: Array(lines.joined(separator: "\r\n").utf8))
    }

    private func track(_ lines: String...) throws -> CameraTrackDescription {
        let text = lines.joined(separator: "\r\n")
        let media = try #require(SessionDescription(parsing: Array(text.utf8)).media.first)
        return try CameraTrackDescription(media)
    }

    @Test func `a camera's description is read`() throws {
        let own = try description(
            "v=0", "o=- 1 1 IN IP4 10.0.0.1", "s=Media Presentation", "a=control:*",
            "m=video 0 RTP/AVP 96", "b=AS:5000", "a=control:trackID=1", "a=rtpmap:96 H264/90000",
            "a=fmtp:96 profile-level-id=420029; packetization-mode=1; sprop-parameter-sets=Z00AKZpmA8ARPy4C1AQEBQAAAwPoAADDUOhgBJPgAAST6u8uNDAAknwAAJJ91d5cKA==,aO48gA==",
            "m=audio 0 RTP/AVP 104", "a=rtpmap:104 mpeg4-generic/16000/1",
            "a=fmtp:104 profile-level-id=15; streamtype=5; mode=AAC-hbr; config=1408;SizeLength=13;IndexLength=3;IndexDeltaLength=3",
            "a=control:trackID=2", "m=application 0 RTP/AVP 107",
            "a=rtpmap:107 vnd.onvif.metadata/90000")
        #expect(own.control == "*")
        #expect(own.media.map(\.kind) == ["video", "audio", "application"])
        let video = try CameraTrackDescription(own.media[0])
        #expect(video.payloadType == 96 && video.clockRate == 90_000)
        #expect(video.control == "trackID=1")
        guard case .video(.h264, let format?) = video.coding else {
            Issue.record("no parameter sets")
            return
        }
        #expect(format.width == 1920 && format.height == 1080)
        let audio = try CameraTrackDescription(own.media[1])
        #expect(
            audio.coding
                == .audio(
                    .aac(configuration: [0x14, 0x08], sampleRate: 16_000, channels: 1),
                    AACPayload(sizeBits: 13, indexBits: 3, indexDeltaBits: 3)))
    }

    @Test func `a bad clock rate in rtpmap is not believed`() throws {
        #expect(try track("m=video 0 RTP/AVP 96", "a=rtpmap:96 H264/0").clockRate == 90_000)
        #expect(try track("m=video 0 RTP/AVP 96", "a=rtpmap:96 H264/1000").clockRate == 90_000)
        let audio = try track(
            "m=audio 0 RTP/AVP 97", "a=rtpmap:97 mpeg4-generic/0/2",
            "a=fmtp:97 mode=AAC-hbr;config=1190")
        #expect(audio.clockRate == 48_000)
    }

    @Test(arguments: ["", "Z00=", "%%%%,aO48gA==", "AAAAAQ==,AAAAAQ=="])
    func `broken sprop-parameter-sets leave it to the pictures`(sets: String) throws {
        let own = try track(
            "m=video 0 RTP/AVP 96", "a=rtpmap:96 H264/90000",
            "a=fmtp:96 sprop-parameter-sets=\(sets)")
        #expect(own.coding == .video(.h264, nil))
    }

    @Test func `parameter sets with a start code in front and zeros behind are used`() throws {
        let sequence = H264Writer.Sequence().nalUnit
        let picture = H264Writer.pictureSet()
        let own = try track(
            "m=video 0 RTP/AVP 96", "a=rtpmap:96 H264/90000",
            "a=fmtp:96 sprop-parameter-sets=\(base64([0, 0, 0, 1] + sequence)),\(base64(picture + [0, 0]))"
        )
        let format = try VideoFormat.h264(parsing: [sequence], pictureParameterSets: [picture])
        #expect(own.coding == .video(.h264, format))
    }

    @Test func `a camera of another codec is told what is recorded`() throws {
        let error = #expect(throws: RTSPError.self) {
            try track("m=video 0 RTP/AVP 96", "a=rtpmap:96 VP9/90000")
        }
        #expect(error?.description == "its video is VP9: only H.264, H.265 and AAC are recorded")
    }

    @Test func `G.711 without rtpmap is known, and refused`() throws {
        let error = #expect(throws: RTSPError.self) { try track("m=audio 0 RTP/AVP 8") }
        #expect(error?.description == "its audio is PCMA: only H.264, H.265 and AAC are recorded")
    }

    @Test func `a description without media is an error, and a million media are not read`() throws
    {
        #expect(throws: RTSPError.self) { try description("v=0", "s=x") }
        let many = [String](repeating: "m=video 0 RTP/AVP 96", count: 5_000)
        let own = try SessionDescription(parsing: Array(many.joined(separator: "\n").utf8))
        #expect(own.media.count == 32)
    }

    @Test func `a back channel is recognised`() throws {
        let own = try description("m=audio 0 RTP/AVP 0", "a=recvonly")
        #expect(own.media[0].isBackChannel)
    }
}

/// Without padding, as some cameras write it.
func base64(_ bytes: [UInt8]) -> String {
    let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    var result = ""
    var value = 0
    var bits = 0
    for byte in bytes {
        value = (value << 8 | Int(byte)) & 0xFFFF
        bits += 8
        while bits >= 6 {
            bits -= 6
            result.append(digits[value >> bits & 63])
        }
    }
    if bits > 0 { result.append(digits[value << (6 - bits) & 63]) }
    return result
}
