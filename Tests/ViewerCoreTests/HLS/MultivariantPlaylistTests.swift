import Library
import Media
import Recordings
import Testing
import TestRecordings
import ViewerCore

/// Multivariant playlists of sessions.
@Suite struct MultivariantPlaylistTests {
    private static let picture = TrackFormat.video(
        .h264(
            sequenceParameterSets: [[0x67, 0x64, 0x00, 0x1E, 0xAC]],
            pictureParameterSets: [[0x68]], width: 1_280, height: 720))
    private static let sound = TrackFormat.audio(
        .aac(configuration: [0x11, 0x90], sampleRate: 48_000, channels: 2))

    private static func source(
        _ name: String, _ formats: [TrackFormat] = [Self.picture, Self.sound]
    ) -> MultivariantPlaylist.Source {
        MultivariantPlaylist.Source(
            name: name, formats: formats,
            bandwidth: Bandwidth(peakBitsPerSecond: 3_000_000, averageBitsPerSecond: 2_000_000),
            frameRate: FrameRate(30_000, per: 1_001))
    }

    @Test func `a playlist is this text`() {
        let playlist = MultivariantPlaylist([
            Self.source("camera1"), Self.source("mic", [Self.sound]),
        ])
        #expect(
            playlist.text == """
                #EXTM3U
                #EXT-X-VERSION:7
                #EXT-X-INDEPENDENT-SEGMENTS
                #EXT-X-MEDIA:TYPE=VIDEO,GROUP-ID="sources",NAME="camera1",DEFAULT=YES,AUTOSELECT=YES,\
                URI="camera1/index.m3u8"
                #EXT-X-STREAM-INF:BANDWIDTH=3000000,AVERAGE-BANDWIDTH=2000000,\
                CODECS="avc1.64001e,mp4a.40.2",RESOLUTION=1280x720,FRAME-RATE=29.97,VIDEO="sources"
                camera1/index.m3u8
                #EXT-X-STREAM-INF:BANDWIDTH=3000000,AVERAGE-BANDWIDTH=2000000,\
                CODECS="mp4a.40.2"
                mic/index.m3u8

                """)
        #expect(MultivariantPlaylist([]).text == nil)
    }

    @Test func `sources of any name and format break no rule`() throws {
        let names = [
            "camera", "a\"b\n#EXT-X-ENDLIST", "a'b #EXT-X-ENDLIST", "\u{0}", "\u{1}", "2", "日本",
            String(repeating: "x", count: 3_000), "{$x}", "../../etc/passwd", "\u{301}",
        ]
        var turned = VideoFormat.h264(
            sequenceParameterSets: [], pictureParameterSets: [], width: 640, height: 480,
            orientation: PictureOrientation(rotation: .quarter))
        let formats: [[TrackFormat]] = [
            [Self.picture, Self.sound], [.video(turned)], [],
            [Self.sound, Self.sound, Self.picture],
        ]
        turned.width = 0
        for (number, own) in (formats + [[.video(turned)]]).enumerated() {
            for renditions in [MultivariantPlaylist.Renditions.oneGroup, .omitted] {
                let sources = names.map {
                    MultivariantPlaylist.Source(name: $0, formats: own, bandwidth: nil)
                }
                let playlist = MultivariantPlaylist(sources, renditions: renditions)
                let rules = MultivariantRules(try #require(playlist.text))
                #expect(rules.findings.isEmpty, "\(number): \(rules.findings)")
                #expect(rules.variants.count == names.count)
                let isGrouped = renditions == .oneGroup && own.contains { $0.kind == .video }
                #expect(rules.renditions.count == (isGrouped ? names.count : 0))
                // A name cannot add path components.
                let slashes = rules.variants.map { $0.uri.split(separator: "/").count - 1 }
                #expect(slashes.allSatisfy { $0 == 1 })
            }
        }
        turned.width = 640
        let rules = MultivariantRules(
            try #require(MultivariantPlaylist([Self.source("a", [.video(turned)])]).text))
        #expect(rules.variants.first?.attributes.plain("RESOLUTION") == "480x640")
        #expect(rules.variants.first?.attributes.quoted("CODECS") == "avc1")
    }

    @Test func `the rules find each mistake`() {
        let right = MultivariantPlaylist([Self.source("a"), Self.source("b")]).text ?? ""
        #expect(MultivariantRules(right).findings.isEmpty)
        let mistakes: [(String, String)] = [
            ("#EXTM3U\n", ""), ("BANDWIDTH=3000000,", ""), ("a/index.m3u8\n#", "#"),
            ("\nb/index.m3u8\n", "\n"), ("VIDEO=\"sources\"", "VIDEO=\"others\""),
            ("NAME=\"b\"", "NAME=\"a\""), ("DEFAULT=NO", "DEFAULT=YES"),
            ("RESOLUTION=1280x720", "RESOLUTION=1280x0"), ("29.97", "29.9701"),
            ("AVERAGE-BANDWIDTH=2000000", "AVERAGE-BANDWIDTH=3000001"),
            ("NAME=\"a\"", "NAME=\"a"), ("#EXT-X-VERSION:7", "#EXT-X-TARGETDURATION:7"),
        ]
        for (place, other) in mistakes {
            let wrong = right.replacing(place, with: other, maxReplacements: 1)
            #expect(wrong != right && !MultivariantRules(wrong).findings.isEmpty, "\(place)")
        }
    }

    @Test func `formats have the names of RFC 6381`() throws {
        #expect(Self.picture.codecText == "avc1.64001e")
        #expect(Self.sound.codecText == "mp4a.40.2")
        // Spectral band replication that is named first, and a configuration that cannot be read.
        let configurations: [([UInt8], String)] = [
            ([0x2B, 0x11, 0x88, 0x00], "mp4a.40.5"), ([], "mp4a.40.2"), ([0xFF], "mp4a.40.2"),
        ]
        for (configuration, name) in configurations {
            let format = AudioFormat.aac(
                configuration: configuration, sampleRate: 24_000, channels: 2)
            #expect(TrackFormat.audio(format).codecText == name)
        }
        let session = try WrittenSession { _ in 0 }
        let files = try RecordedCamera(session).segmentation().files
        #expect(files[0].formats.map(\.codecText) == ["avc1.42c00a", "mp4a.40.2"])
    }

    @Test func `bandwidth is the peak of neighbours and the average of all`() throws {
        func piece(_ bytes: Int64, _ seconds: Double) -> Bandwidth.Piece {
            Bandwidth.Piece(sizeBytes: bytes, durationNanoseconds: nanoseconds(seconds))
        }
        let steady = try #require(
            Bandwidth((0..<10).map { _ in piece(1_000_000, 4) }, targetSeconds: 4))
        #expect(steady.peakBitsPerSecond == 2_000_000)
        #expect(steady.averageBitsPerSecond == 2_000_000)
        // A short piece counts together with its neighbours only.
        let burst = try #require(
            Bandwidth(
                [piece(1_000_000, 4), piece(1_000_000, 0.5), piece(1_000_000, 4)],
                targetSeconds: 4))
        #expect(burst.peakBitsPerSecond == 3_555_556)
        #expect(burst.averageBitsPerSecond == 2_823_530)
        let files = try #require(Bandwidth([piece(75_000_000, 600)], targetSeconds: 8))
        #expect(files == Bandwidth(peakBitsPerSecond: 1_000_000, averageBitsPerSecond: 1_000_000))
        #expect(Bandwidth([Bandwidth.Piece](), targetSeconds: 8) == nil)
        #expect(Bandwidth([piece(5, 0)], targetSeconds: 8) == nil)
        let hostile = Bandwidth.Piece(sizeBytes: .max, durationNanoseconds: 1)
        #expect(Bandwidth([hostile, hostile, hostile], targetSeconds: .max) != nil)
    }
}
