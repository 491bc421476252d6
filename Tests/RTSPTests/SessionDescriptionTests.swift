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
                    .init(
                        AACPayload(
                            .aac(configuration: [0x14, 0x08], sampleRate: 16_000, channels: 1),
                            sizeBits: 13, indexBits: 3, indexDeltaBits: 3))))
    }

    @Test func `an invalid clock rate in rtpmap is replaced by the codec's`() throws {
        #expect(try track("m=video 0 RTP/AVP 96", "a=rtpmap:96 H264/0").clockRate == 90_000)
        #expect(try track("m=video 0 RTP/AVP 96", "a=rtpmap:96 H264/1000").clockRate == 90_000)
        let audio = try track(
            "m=audio 0 RTP/AVP 97", "a=rtpmap:97 mpeg4-generic/0/2",
            "a=fmtp:97 mode=AAC-hbr;config=1190")
        #expect(audio.clockRate == 48_000)
        for stated in [1, 999, 4_000_000_000] {
            let sound = try track(
                "m=audio 0 RTP/AVP 97", "a=rtpmap:97 mpeg4-generic/\(stated)/2",
                "a=fmtp:97 mode=AAC-hbr;config=1190")
            #expect(sound.clockRate == 48_000, "\(stated)")
        }
    }

    @Test(arguments: ["", "Z00=", "%%%%,aO48gA==", "AAAAAQ==,AAAAAQ=="])
    func `invalid sprop-parameter-sets are ignored, in favour of in-band sets`(sets: String) throws
    {
        let own = try track(
            "m=video 0 RTP/AVP 96", "a=rtpmap:96 H264/90000",
            "a=fmtp:96 sprop-parameter-sets=\(sets)")
        #expect(own.coding == .video(.h264, nil))
    }

    @Test func `parameter sets with a start code and trailing zeros are used`() throws {
        let sequence = H264Writer.Sequence().nalUnit
        let picture = H264Writer.pictureSet()
        let own = try track(
            "m=video 0 RTP/AVP 96", "a=rtpmap:96 H264/90000",
            "a=fmtp:96 sprop-parameter-sets=\(base64([0, 0, 0, 1] + sequence)),\(base64(picture + [0, 0]))"
        )
        let format = try VideoFormat.h264(parsing: [sequence], pictureParameterSets: [picture])
        #expect(own.coding == .video(.h264, format))
    }

    @Test func `an unsupported codec is refused with the supported ones`() throws {
        let error = #expect(throws: RTSPError.self) {
            try track("m=video 0 RTP/AVP 96", "a=rtpmap:96 VP9/90000")
        }
        #expect(
            error?.description
                == "its video is VP9: only H.264, H.265, AAC, G.711, L16 and Opus are recorded")
    }

    private func sound(_ lines: String...) throws -> ForeignSound {
        let text = (["m=audio 0 RTP/AVP 97"] + lines).joined(separator: "\n")
        let media = try #require(SessionDescription(parsing: Array(text.utf8)).media.first)
        let own = try CameraTrackDescription(media)
        guard case .foreign(let sound) = own.coding else {
            throw RTSPError.unusableDescription("\(own.coding)")
        }
        #expect(own.kind == .audio && own.clockRate == sound.sampleRate && own.audioFormat == nil)
        return sound
    }

    @Test func `G.711 is recognised without rtpmap`() throws {
        let own = try track("m=audio 0 RTP/AVP 8")
        guard case .foreign(let sound) = own.coding else {
            Issue.record("\(own.coding)")
            return
        }
        #expect(sound.codec == .aLaw && sound.sampleRate == 8_000 && sound.channels == 1)
        #expect(sound.frameBytes == 1 && own.clockRate == 8_000)
    }

    @Test func `G.711 and L16 have the rate and the channels of rtpmap`() throws {
        let law = try sound("a=rtpmap:97 PCMU/16000")
        #expect(law.codec == .muLaw && law.sampleRate == 16_000 && law.channels == 1)
        let linear = try sound("a=rtpmap:97 L16/44100/2")
        #expect(linear.codec == .linear16 && linear.sampleRate == 44_100)
        #expect(linear.channels == 2 && linear.frameBytes == 4)
    }

    @Test func `Opus is at 48 kHz, and mono unless sprop-stereo is 1`() throws {
        let mono = try sound("a=rtpmap:97 opus/48000/2")
        #expect(mono.codec == .opus && mono.sampleRate == 48_000 && mono.channels == 1)
        #expect(mono.frameBytes == nil)
        let stereo = try sound("a=rtpmap:97 OPUS/48000/2", "a=fmtp:97 sprop-stereo=1")
        #expect(stereo.channels == 2)
    }

    @Test(arguments: ["L16/0", "L16/44100/9", "PCMA/8000/0", "PCMU/4000000000"])
    func `an invalid rate or number of channels is refused`(map: String) {
        #expect(throws: RTSPError.self) { try sound("a=rtpmap:97 \(map)") }
    }

    @Test func `AAC as LATM has its configuration in fmtp`() throws {
        let own = try track(
            "m=audio 0 RTP/AVP 97", "a=rtpmap:97 MP4A-LATM/48000/2",
            "a=fmtp:97 cpresent=0; config=400023203fc0")
        #expect(own.clockRate == 48_000)
        #expect(
            own.audioFormat
                == .aac(configuration: [0x11, 0x90], sampleRate: 48_000, channels: 2))
        for parameters in ["cpresent=1", "cpresent=0", "config=40", "config=zz", ""] {
            #expect(throws: RTSPError.self) {
                try track(
                    "m=audio 0 RTP/AVP 97", "a=rtpmap:97 MP4A-LATM/48000/2",
                    "a=fmtp:97 \(parameters)")
            }
        }
    }

    @Test func `a description without media is an error, and a million media are not read`() throws
    {
        #expect(throws: RTSPError.self) { try description("v=0", "s=x") }
        let many = [String](repeating: "m=video 0 RTP/AVP 96", count: 5_000)
        let own = try SessionDescription(parsing: Array(many.joined(separator: "\n").utf8))
        #expect(own.media.count == 32)
    }

    /// ONVIF cameras, and those of Hikvision, Dahua and H3C.
    @Test func `directions are from the client's view, so that a back channel is sent by it`()
        throws
    {
        let own = try description(
            "m=video 0 RTP/AVP 96", "a=recvonly", "m=audio 0 RTP/AVP 0", "a=recvonly",
            "m=audio 0 RTP/AVP 8", "a=sendonly")
        #expect(own.recordable.map(\.payloadType) == [96, 0])
    }

    @Test func `a server may state directions from its own view`() throws {
        let own = try description(
            "m=video 0 RTP/AVP 96", "a=sendonly", "m=audio 0 RTP/AVP 0", "a=sendonly",
            "m=audio 0 RTP/AVP 8", "a=recvonly")
        #expect(own.recordable.map(\.payloadType) == [96, 0])
        let sound = try description("m=audio 0 RTP/AVP 0", "a=sendonly")
        #expect(sound.recordable.map(\.payloadType) == [0])
    }

    @Test(arguments: ["RTP/SAVP", "RTP/SAVPF"])
    func `media that is encrypted with SRTP is refused with the remedy`(profile: String) throws {
        let description = try SessionDescription(
            parsing: Array("m=video 0 \(profile) 96\na=rtpmap:96 H264/90000\na=crypto:1 x".utf8))
        let error = #expect(throws: RTSPError.self) {
            try CameraTrackDescription(try #require(description.recordable.first))
        }
        #expect("\(try #require(error))".contains("?enableSrtp"))
    }

    @Test func `an audio track that needs no transcoding is preferred`() throws {
        let aac = """
            m=audio 0 RTP/AVP 97
            a=rtpmap:97 mpeg4-generic/48000/2
            a=fmtp:97 mode=AAC-hbr;config=1190;sizelength=13;indexlength=3;indexdeltalength=3
            """
        let opus = "m=audio 0 RTP/AVP 98\na=rtpmap:98 opus/48000/2"
        let video = "m=video 0 RTP/AVP 96\na=rtpmap:96 H264/90000"
        for (media, audio) in [
            ([opus, video, aac], 2), ([aac, video, opus], 0), ([opus, video], 0),
        ] {
            let tracks = try SessionDescription(
                parsing: Array(media.joined(separator: "\n").utf8)
            ).recordable.map { try CameraTrackDescription($0) }
            #expect(tracks.preferredTrack(of: .audio) == audio)
            #expect(tracks.preferredTrack(of: .video) == 1)
        }
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
