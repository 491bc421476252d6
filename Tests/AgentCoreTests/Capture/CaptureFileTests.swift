import AgentCore
import Devices
import Encoding
import Foundation
import Media
import TestMedia
import Testing

@Suite(.enabled(if: MediaFiles.canBeMade, "ffmpeg makes the media"))
struct CaptureFileTests {
    private let start = JumpingClock.start

    private func copying(_ path: String) -> CaptureSettings {
        var settings = quickSettings(video: .file(path: path), audio: .file(path: path))
        settings.encoder = .copy
        return settings
    }

    /// Nanoseconds that ffprobe's time in seconds stands for, and the packet's bytes, of one track by ffmpeg's reading.
    private func streamHash(
        _ files: borrowing MediaFiles, _ path: String, _ stream: String
    ) throws -> [(pts: Double, dts: Double, crc: String)] {
        let list = try files.run(
            ["-i", path, "-map", "0:\(stream)", "-c", "copy", "-copyts", "-f", "framecrc", "-"])
        var timescale = 1.0
        var packets: [(Double, Double, String)] = []
        for line in String(decoding: list, as: UTF8.self).split(separator: "\n") {
            if line.hasPrefix("#tb") {
                let parts = line.split(separator: " ").last?.split(separator: "/") ?? []
                timescale = try #require(Double(parts[0])) / #require(Double(parts[1]))
            }
            if line.hasPrefix("#") { continue }
            let fields = line.split(separator: ",").map {
                $0.trimmingCharacters(in: .whitespaces)
            }
            packets.append(
                (
                    try #require(Double(fields[2])) * timescale,
                    try #require(Double(fields[1])) * timescale, fields[5]
                ))
        }
        return packets
    }

    /// Adler-32 with start 0, as `framecrc` prints it.
    private func adler(_ bytes: [UInt8]) -> String {
        var low: UInt32 = 0
        var high: UInt32 = 0
        for byte in bytes {
            low = (low + UInt32(byte)) % 65_521
            high = (high + low) % 65_521
        }
        let hex = String(high << 16 | low, radix: 16)
        return "0x" + String(repeating: "0", count: 8 - hex.count) + hex
    }

    private func expectCopy(
        _ files: borrowing MediaFiles, _ path: String, _ result: CollectingSink.Result
    ) throws {
        for (stream, samples) in [("v:0", result.video), ("a:0", result.audio)] {
            let packets = try streamHash(files, path, stream)
            #expect(samples.count == packets.count)
            for (sample, packet) in zip(samples, packets) {
                #expect(adler(sample.data) == packet.crc)
                let pts = Double(sample.ptsNanoseconds - start) / 1e9
                let dts = Double(sample.dtsNanoseconds - start) / 1e9
                #expect(abs(pts - packet.pts) < 0.0001)
                #expect(abs(dts - packet.dts) < 0.0001)
            }
        }
    }

    @Test(arguments: ["-bf 3", "-bf 3 -x264-params open-gop=1", "-bf 0"])
    func `an MP4 is copied bit for bit with its times`(options: String) throws {
        let files = try MediaFiles()
        let path = try files.make(
            "a.mp4", "\(MediaFiles.inputs) \(MediaFiles.h264) \(options) \(MediaFiles.aac)")
        let result = try capture(copying(path))
        #expect(result.ends == [.finished("end of file")])
        #expect(result.video.count == 50)
        #expect(result.audio.count { $0.flags.contains(.priming) } == 1)
        #expect(result.video.map(\.ptsNanoseconds).min() == start)
        try expectCopy(files, path, result)
    }

    @Test(.enabled(if: MediaFiles.footage != nil, "the footage stands beside the repository"))
    func `real footage is copied bit for bit with its times`() throws {
        let files = try MediaFiles()
        let path = try #require(MediaFiles.footage)
        let result = try capture(copying(path))
        #expect(result.video.count == 377)
        #expect(result.ends == [.finished("end of file")])
        try expectCopy(files, path, result)
    }

    @Test func `a transport stream becomes the same access units as its MP4`() throws {
        let files = try MediaFiles()
        let mp4 = try files.make(
            "a.mp4", "\(MediaFiles.inputs) \(MediaFiles.h264) -bf 2 \(MediaFiles.aac)")
        let ts = try files.make("a.ts", "-i \(mp4) -c copy")
        let one = try capture(copying(mp4))
        let other = try capture(copying(ts))
        #expect(other.video.count == one.video.count)
        for (sample, whole) in zip(other.video, one.video) {
            #expect(slices(sample.data) == slices(whole.data))
            #expect(sample.flags == whole.flags)
        }
        #expect(other.audio.map(\.data) == one.audio.map(\.data))
        guard case .audio(let a) = one.formats[1], case .audio(let b) = other.formats[1] else {
            Issue.record("no AAC")
            return
        }
        #expect(a.sampleRate == b.sampleRate && a.channels == b.channels)
    }

    private func slices(_ accessUnit: [UInt8]) -> [[UInt8]] {
        var result: [[UInt8]] = []
        var cursor = NALUnitCursor()
        while let unit = try? cursor.next(in: accessUnit.span) {
            if unit.h264Type.isSlice { result.append(Array(accessUnit[unit.range])) }
        }
        return result
    }

    /// No container says when its pictures are presented; their picture order counts do (ITU-T H.264 §8.2.1).
    @Test func `a raw stream with B-frames has the times of its MP4`() throws {
        let files = try MediaFiles()
        let mp4 = try files.make(
            "b.mp4", "\(MediaFiles.inputs) \(MediaFiles.h264) -bf 2 -map 0:v")
        let raw = try files.make("b.h264", "-i \(mp4) -c copy")
        func times(_ path: String) throws -> [Int64] {
            var settings = copying(path)
            settings.audio = .none
            let samples = try capture(settings).video
            let first = try #require(samples.first).ptsNanoseconds
            return samples.map { $0.ptsNanoseconds - first }
        }
        let expected = try times(mp4)
        let found = try times(raw)
        #expect(found.count == expected.count)
        #expect(expected != expected.sorted())
        for (one, other) in zip(found, expected) { #expect(abs(one - other) < 1_000_000) }
    }

    @Test func `a looped copy continues without a gap, overlap or shift between tracks`() throws {
        let files = try MediaFiles()
        let path = try files.make(
            "a.mp4", "\(MediaFiles.inputs) \(MediaFiles.h264) -bf 2 \(MediaFiles.aac)")
        let once = try capture(copying(path))
        var settings = copying(path)
        settings.loop = true
        settings.duration = .seconds(7)
        let result = try capture(settings)
        #expect(result.ends == [.finished("duration reached")])
        for (samples, first) in [(result.video, once.video), (result.audio, once.audio)] {
            let steps = zip(samples.dropFirst(), samples).map {
                $0.dtsNanoseconds - $1.dtsNanoseconds
            }
            #expect(steps.allSatisfy { $0 > 0 && $0 < 70_000_000 })
            #expect(samples.count > 3 * first.count)
        }
        // The second round's first picture and sound are as far apart as the first round's.
        let picture = result.video[once.video.count].ptsNanoseconds
        let sound = result.audio[once.audio.count].ptsNanoseconds
        #expect(picture == sound)
        #expect(result.audio.count { $0.flags.contains(.priming) } == 1)
    }

    @Test func `a file is encoded again with its own size, rate and times`() throws {
        let files = try MediaFiles()
        let path = try files.make(
            "raw.nut",
            "\(MediaFiles.inputs) -pix_fmt nv12 -c:v rawvideo -c:a pcm_s16le")
        let result = try capture(
            quickSettings(video: .file(path: path), audio: .file(path: path)))
        #expect(result.ends == [.finished("end of file")])
        #expect(
            result.video.map(\.ptsNanoseconds)
                == (0..<50).map { start + Int64($0) * 40_000_000 })
        guard case .video(let format) = result.formats[0] else { return }
        #expect(format.width == 320 && format.height == 180)
        let captured = result.audio.filter { !$0.flags.contains(.priming) }
        #expect(captured.first?.ptsNanoseconds == start)
        #expect(captured.reduce(0) { $0 + $1.durationNanoseconds } == 2_000_000_000)
    }

    @Test func `a lower rate leaves pictures out, a higher one repeats none`() throws {
        let files = try MediaFiles()
        let path = try files.make(
            "a.mp4", "\(MediaFiles.inputs) \(MediaFiles.h264) -bf 2 -map 0:v")
        for (rate, count) in [(10, 20), (5, 10), (25, 50), (50, 50)] as [(Int32, Int)] {
            var settings = quickSettings(video: .file(path: path), audio: .none)
            settings.frameRate = FrameRate(rate)
            settings.size = PictureSize(width: 160, height: 90)
            let result = try capture(settings)
            #expect(result.video.count == count, "at \(rate)")
            let own = Set((0..<50).map { start + Int64($0) * 40_000_000 })
            #expect(own.isSuperset(of: result.video.map(\.ptsNanoseconds)))
        }
    }

    @Test func `the AAC delay of a transcoded file is removed once`() throws {
        let files = try MediaFiles()
        let path = try files.make(
            "a.mp4", "\(MediaFiles.inputs) \(MediaFiles.h264) \(MediaFiles.aac)")
        var settings = quickSettings(video: .none, audio: .file(path: path))
        settings.sampleRate = 44_100
        settings.channels = 1
        let result = try capture(settings)
        let captured = result.audio.filter { !$0.flags.contains(.priming) }
        #expect(captured.first?.ptsNanoseconds == start)
        let length = captured.reduce(0) { $0 + $1.durationNanoseconds }
        // The container does not have the last packet's padding.
        #expect((2_000_000_000..<2_022_000_000).contains(length))
    }

    @Test func `picture and sound may come from different files`() throws {
        let files = try MediaFiles()
        let picture = try files.make(
            "v.mp4", "\(MediaFiles.inputs) \(MediaFiles.h264) -map 0:v")
        let sound = try files.make("a.wav", "\(MediaFiles.inputs) -map 1:a")
        var settings = quickSettings(video: .file(path: picture), audio: .file(path: sound))
        settings.duration = .seconds(1)
        let result = try capture(settings)
        #expect(result.video.count == 25)
        let captured = result.audio.filter { !$0.flags.contains(.priming) }
        #expect(captured.reduce(0) { $0 + $1.durationNanoseconds } == 1_000_000_000)
        #expect(captured.first?.ptsNanoseconds == result.video.first?.ptsNanoseconds)
    }

    @Test func `a truncated file's readable samples are delivered before its error`() throws {
        let files = try MediaFiles()
        let whole = try files.make(
            "a.mp4",
            "\(MediaFiles.inputs) \(MediaFiles.h264) \(MediaFiles.aac) -movflags +faststart")
        let short = try files.cut(whole, to: "short.mp4") { $0 * 2 / 3 }
        let result = try capture(copying(short))
        #expect(result.video.count > 5)
        guard case .failed(let text) = result.ends.first else {
            Issue.record("it did not fail")
            return
        }
        #expect(text.contains("truncated") && text.contains(short))
    }

    @Test func `a copied file with another codec is refused with the codec's name`() throws {
        let files = try MediaFiles()
        let path = try files.make("a.mkv", "\(MediaFiles.inputs) -c:v mpeg4 -c:a pcm_s16le")
        var settings = copying(path)
        let error = #expect(throws: CaptureError.self) { _ = try capture(settings) }
        #expect(error?.description.contains("mpeg4") == true)
        settings.video = .none
        let sound = #expect(throws: CaptureError.self) { _ = try capture(settings) }
        #expect(sound?.description.contains("pcm_s16le") == true)
    }
}
