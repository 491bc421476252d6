import Devices
import Foundation
import Media
import TestMedia
import Testing

@Suite(.enabled(if: MediaFiles.canBeMade, "ffmpeg makes the media"))
struct FileSourceTests {
    private func all(
        _ path: String, _ kinds: [TrackKind] = [.video, .audio], loops: Bool = false,
        until end: Int64 = .max
    ) throws -> [CodedPacket] {
        var source = try FileSource(path: path, kinds: kinds, loops: loops)
        var packets: [CodedPacket] = []
        while let packet = try source.next(), packet.dtsNanoseconds < end {
            packets.append(packet)
        }
        return packets
    }

    @Test func `packets of both tracks are in the order of their decoding times`() throws {
        let files = try MediaFiles()
        // All of one track before the other: not interleaved at all.
        let path = try files.make(
            "a.mkv",
            "\(MediaFiles.inputs) \(MediaFiles.h264) -bf 3 \(MediaFiles.aac) -max_interleave_delta 1 "
                + "-cluster_time_limit 30000")
        let packets = try all(path)
        #expect(packets.count { $0.track == .video } == 50)
        let times = packets.map(\.dtsNanoseconds)
        #expect(times == times.sorted())
    }

    @Test func `the earliest presented time of an MP4 is zero, with B-frames and AAC priming`()
        throws
    {
        let files = try MediaFiles()
        let path = try files.make(
            "a.mp4", "\(MediaFiles.inputs) \(MediaFiles.h264) -bf 3 \(MediaFiles.aac)")
        let packets = try all(path)
        let video = packets.filter { $0.track == .video }
        let audio = packets.filter { $0.track == .audio }
        #expect(video.compactMap(\.ptsNanoseconds).min() == 0)
        #expect(video.first.map { $0.dtsNanoseconds < 0 } == true)
        // 1024 frames of priming, which are not presented.
        #expect(audio.first?.ptsNanoseconds == -21_333_333)
        #expect(audio.first?.skippedAtStart == 1024)
        #expect(audio.dropFirst().first?.ptsNanoseconds == 0)
    }

    @Test func `the distance between video and audio is kept`() throws {
        let files = try MediaFiles()
        let path = try files.make(
            "late.mp4",
            "-f lavfi -i testsrc2=s=320x180:r=25:d=2 -itsoffset 0.5 "
                + "-f lavfi -i sine=r=48000:d=1 \(MediaFiles.h264) -c:a pcm_s16le -f mov")
        let packets = try all(path)
        #expect(packets.first { $0.track == .video }?.ptsNanoseconds == 0)
        #expect(packets.first { $0.track == .audio }?.ptsNanoseconds == 500_000_000)
        // Alone it keeps its time too, since the file has one zero.
        #expect(try all(path, [.audio]).first?.ptsNanoseconds == 500_000_000)
    }

    @Test func `a loop continues at the file's end`() throws {
        let files = try MediaFiles()
        let path = try files.make(
            "a.mp4", "\(MediaFiles.inputs) \(MediaFiles.h264) -bf 2 \(MediaFiles.aac)")
        let once = try all(path)
        let packets = try all(path, loops: true, until: 6_500_000_000)
        for kind in TrackKind.allCases {
            let times = packets.filter { $0.track == kind }.compactMap(\.ptsNanoseconds)
            let first = once.filter { $0.track == kind }.compactMap(\.ptsNanoseconds)
            #expect(Array(times.prefix(first.count)) == first)
            // The AAC of two seconds is a little longer than the pictures: that is the file's duration.
            let second = times.dropFirst(first.count).prefix(first.count)
            let offsets = Set(zip(second, first).map { $0 - $1 })
            #expect(offsets.count == 1)
            #expect((2_000_000_000...2_043_000_000).contains(offsets.first ?? 0))
        }
        let offsets = TrackKind.allCases.map { kind in
            let times = packets.filter { $0.track == kind }.compactMap(\.ptsNanoseconds)
            let count = once.count { $0.track == kind }
            return times[count] - times[0]
        }
        #expect(offsets[0] == offsets[1])
    }

    @Test func `audio between shown packets is shown, whatever its flags`() throws {
        let files = try MediaFiles()
        let path = try files.make(
            "a.mp4",
            "\(MediaFiles.inputs) \(MediaFiles.h264) -bf 2 \(MediaFiles.aac) "
                + "-movflags frag_every_frame+empty_moov+separate_moof")
        let sound = try all(path, loops: true, until: 5_000_000_000).filter { $0.track == .audio }
        #expect(sound.count > 200)
        let hidden = sound.filter { $0.isDiscarded }
        #expect(hidden.allSatisfy { $0.skippedAtStart > 0 }, "\(hidden.count)")
    }

    @Test func `a round lasts as long as the longer track`() throws {
        let files = try MediaFiles()
        let path = try files.make(
            "a.mov",
            "-f lavfi -i testsrc2=s=320x180:r=25:d=1 -f lavfi -i sine=r=48000:d=3 "
                + "\(MediaFiles.h264) -c:a pcm_s16le")
        let packets = try all(path, loops: true, until: 3_500_000_000)
        let pictures = packets.filter { $0.track == .video }.compactMap(\.ptsNanoseconds)
        #expect(pictures[25] == 3_000_000_000)
        let sound = packets.filter { $0.track == .audio }.compactMap(\.ptsNanoseconds)
        #expect(sound.contains(3_000_000_000))
    }

    @Test func `a transport stream begins at zero, whatever its first timestamp`() throws {
        let files = try MediaFiles()
        let path = try files.make(
            "a.ts", "\(MediaFiles.inputs) \(MediaFiles.h264) -bf 2 \(MediaFiles.aac) -muxdelay 7")
        let times = try all(path).compactMap(\.ptsNanoseconds)
        #expect(times.min() == 0)
        #expect((times.max() ?? 0) < 2_100_000_000)
    }

    @Test func `raw pictures have their format and rate`() throws {
        let files = try MediaFiles()
        let path = try files.make(
            "raw.nut",
            "-f lavfi -i testsrc2=s=64x48:r=30:d=0.5 -pix_fmt nv12 -c:v rawvideo")
        var source = try FileSource(path: path, kinds: [.video], loops: false)
        #expect(source.tracks[0].codec == "rawvideo")
        guard case .picture(let picture) = source.tracks[0].content else {
            Issue.record("not a picture")
            return
        }
        #expect(picture.format == .nv12)
        #expect(picture.rate == FrameRate(30))
        #expect(picture.hasConstantRate)
        #expect(try source.next()?.bytes.count == 64 * 48 * 3 / 2)
        #expect(try source.next()?.ptsNanoseconds == 33_333_333)
    }

    @Test func `missing decoding times of Matroska are filled in at the beginning`() throws {
        let files = try MediaFiles()
        let path = try files.make(
            "a.mkv", "\(MediaFiles.inputs) \(MediaFiles.h264) -bf 3 \(MediaFiles.aac)")
        let video = try all(path, [.video])
        let steps = zip(video.dropFirst(), video).map { $0.dtsNanoseconds - $1.dtsNanoseconds }
        #expect(steps.allSatisfy { (39_000_000...41_000_000).contains($0) })
        #expect(video.allSatisfy { ($0.ptsNanoseconds ?? 0) >= $0.dtsNanoseconds })
    }

    @Test func `a raw stream's packets follow each other from zero`() throws {
        let files = try MediaFiles()
        let path = try files.make("a.h264", "\(MediaFiles.inputs) \(MediaFiles.h264) -map 0:v")
        let video = try all(path, [.video])
        #expect(video.count == 50)
        #expect(video.map(\.dtsNanoseconds) == (0..<50).map { Int64($0) * 40_000_000 })
    }

    // MARK: Unusable files

    @Test func `an absent file is named`() {
        #expect(
            throws: DeviceError.cannotOpen(path: "/nowhere/clip.mp4", reason: "no such file")
        ) {
            _ = try all("/nowhere/clip.mp4")
        }
    }

    @Test func `a file of another kind is refused`() throws {
        let files = try MediaFiles()
        let path = files.directory.appending(path: "notes.txt")
        try Data("plain words\n".utf8).write(to: path)
        #expect(throws: DeviceError.self) { _ = try all(path.path) }
    }

    @Test func `a missing track is named`() throws {
        let files = try MediaFiles()
        let path = try files.make("mute.mp4", "\(MediaFiles.inputs) \(MediaFiles.h264) -map 0:v")
        #expect(throws: DeviceError.noTrack(.audio, path: path)) { _ = try all(path) }
        #expect(try all(path, [.video]).count == 50)
    }

    @Test func `an MP4 without its index cannot be opened`() throws {
        let files = try MediaFiles()
        let whole = try files.make(
            "a.mp4", "\(MediaFiles.inputs) \(MediaFiles.h264) \(MediaFiles.aac)")
        let short = try files.cut(whole, to: "short.mp4") { $0 / 2 }
        #expect(throws: DeviceError.self) { _ = try all(short) }
    }

    @Test func `data that ends before the index states is an error`() throws {
        let files = try MediaFiles()
        let whole = try files.make(
            "a.mp4",
            "\(MediaFiles.inputs) \(MediaFiles.h264) \(MediaFiles.aac) -movflags +faststart")
        let short = try files.cut(whole, to: "short.mp4") { $0 * 2 / 3 }
        var source = try FileSource(path: short, kinds: [.video, .audio], loops: false)
        var packets = 0
        let error = #expect(throws: DeviceError.self) {
            while try source.next() != nil { packets += 1 }
        }
        #expect(packets > 10)
        guard case .truncated(short, let time) = error else {
            Issue.record("not recognised as truncated: \(String(describing: error))")
            return
        }
        #expect((500_000_000...1_900_000_000).contains(time))
    }

    @Test func `an MP4 that ends between two packets is recognised as truncated`() throws {
        let files = try MediaFiles()
        let whole = try files.make(
            "a.mp4", "\(MediaFiles.inputs) \(MediaFiles.h264) -map 0:v -movflags +faststart")
        let last = try #require(try all(whole, [.video]).last?.bytes.count)
        let short = try files.cut(whole, to: "short.mp4") { $0 - last }
        #expect(throws: DeviceError.self) { _ = try all(short, [.video]) }
    }

    @Test(arguments: ["mkv", "avi", "flv"], [[TrackKind.video, .audio], [.audio]])
    func `a cut file of another container is recognised by its length`(
        container: String, kinds: [TrackKind]
    ) throws {
        let files = try MediaFiles()
        let whole = try files.make(
            "a.\(container)",
            "-f lavfi -i testsrc2=s=320x180:r=25:d=6 -f lavfi -i sine=r=44100:d=6 "
                + "\(MediaFiles.h264) \(MediaFiles.aac)")
        #expect(try all(whole, kinds).count > 100)
        let short = try files.cut(whole, to: "short.\(container)") { $0 / 2 }
        #expect(throws: DeviceError.self) { _ = try all(short, kinds) }
    }
}
