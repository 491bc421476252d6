import Archive
import Containers
import Devices
import ExportCore
import Foundation
import MP4
import Media
import TestMedia
import Testing

/// MP4s of other writers that are damaged, or that only look like it.
@Suite(.enabled(if: MediaFiles.canBeMade, "ffmpeg makes the media"))
struct DamagedMovieTests {
    private static let fragments = "-movflags frag_keyframe+empty_moov+default_base_moof"

    /// Six fragments of ten pictures.
    private static func fragmented(_ media: borrowing MediaFiles) throws -> [UInt8] {
        try OddContainerTests.read(
            try media.make("fragmented.mp4", "\(OddContainerTests.clip) \(fragments)"))
    }

    private static func offsets(of type: String, in bytes: [UInt8]) -> [Int] {
        let name = Array(type.utf8)
        return bytes.indices.dropLast(3).filter {
            bytes[$0] == name[0] && bytes[$0..<$0 + 4].elementsEqual(name)
        }
    }

    enum Damage: CaseIterable {
        case zeroedFragment
        case missingPart
        case wrongSize
    }

    @Test(arguments: Damage.allCases)
    func `a fragment that is damaged is a gap, and the others are imported`(
        _ damage: Damage
    ) throws {
        let media = try MediaFiles()
        var bytes = try Self.fragmented(media)
        let second = Self.offsets(of: "moof", in: bytes)[1] - 4
        let content = Self.offsets(of: "mdat", in: bytes)[1]
        switch damage {
        case .zeroedFragment: for index in second..<second + 4_096 { bytes[index] = 0 }
        case .missingPart: bytes.removeSubrange(content + 5_000..<content + 6_000)
        case .wrongSize: bytes[content - 3] ^= 1
        }
        let path = try OddContainerTests.write(bytes, "damaged.mp4", in: media)
        let imported = try OddContainerTests.import(path, in: media)
        #expect(imported.report.isIntact, "\(imported.report.allFindings)")
        // One fragment, and the picture before it, after which something is missing.
        #expect((49...50).contains(imported.samples.pictures), "\(imported.samples)")
        #expect(imported.decoded.undecodable == 0)
        #expect(Set(imported.gaps.map(\.track)) == ["video", "audio"])
        #expect(imported.notes.contains { $0.contains("parts of the file are lost") })
        let error = #expect(throws: ContainerError.self) {
            try OddContainerTests.remux(path, to: "copy.mp4", .mp4, in: media)
        }
        #expect(error?.description.contains("parts of it are lost") == true)
        let report = FileVerifier.verify(path).report
        #expect(!report.isIntact)
    }

    @Test func `zeros at the end of a fragmented file are noted, not damage`() throws {
        let media = try MediaFiles()
        let bytes = try Self.fragmented(media)
        let path = try OddContainerTests.write(
            bytes + [UInt8](repeating: 0, count: 100_000), "zeros.mp4", in: media)
        let imported = try OddContainerTests.import(path, in: media)
        #expect(imported.samples.pictures == 60 && imported.gaps.isEmpty)
        #expect(
            imported.notes == ["its last 100000 bytes are zeros: they are left out"])
        #expect(try OddContainerTests.remux(path, to: "copy.mp4", .mp4, in: media).packets > 300)
        #expect(FileVerifier.verify(path).report.isIntact)
    }

    @Test func `verify walks the fragments of a foreign file`() throws {
        let media = try MediaFiles()
        var bytes = try Self.fragmented(media)
        let whole = try OddContainerTests.write(bytes, "whole.mp4", in: media)
        let report = FileVerifier.verify(whole).report
        #expect(report.isIntact, "\(report.findings)")
        let video = try #require(report.tracks.first { $0.kind == "video" })
        #expect((video.samples, video.keyframes) == (60, 6))
        #expect(abs(video.endSeconds - 6) < 0.3)
        for index in bytes.count / 2..<bytes.count / 2 + 3_000 { bytes[index] = 0 }
        let damaged = try OddContainerTests.write(bytes, "damaged.mp4", in: media)
        #expect(!FileVerifier.verify(damaged).report.isIntact)
    }

    @Test func `one fragment per sample is not damage`() throws {
        let media = try MediaFiles()
        let path = try media.make(
            "each.mp4", "\(OddContainerTests.clip) -movflags frag_every_frame+empty_moov")
        let report = FileVerifier.verify(path).report
        #expect(report.isIntact, "\(report.findings)")
        #expect(try OddContainerTests.import(path, in: media).notes.isEmpty)
    }

    @Test func `sound of a file with a fragment for each sample is imported as it is copied`()
        throws
    {
        let media = try MediaFiles()
        // libavformat flags some of its packets as not presented.
        let path = try media.make(
            "each.mp4",
            "\(OddContainerTests.clip) -movflags frag_every_frame+empty_moov+separate_moof")
        let copy = try OddContainerTests.remux(path, to: "copy.mkv", .matroska, in: media)
        #expect(copy.packets > 300 && copy.hidden == 0)
        let imported = try OddContainerTests.import(path, in: media)
        #expect(imported.samples.pictures + imported.samples.sound == copy.packets)
        #expect(imported.report.isIntact && imported.notes.isEmpty, "\(imported.notes)")
    }

    /// The samples of a file's pictures.
    private static func pictures(of path: String) throws -> SampleTable {
        let movie = try DescriptorSource.withFile(path) { try Movie.read(from: $0) }
        return try #require(movie.track(.video)).samples
    }

    @Test func `empty pictures are left out, and are not damage`() throws {
        let media = try MediaFiles()
        let clip = try media.make(
            "clip.mp4",
            OddContainerTests.clip.replacing("-g 10 -bf 2", with: "-g 1 -bf 0")
                + " -movflags +faststart")
        let ends = try Self.pictures(of: clip).chunkStarts.dropFirst().map { $0 - 1 }
        #expect(ends.count > 10 && ends.last == 59)
        var bytes = try OddContainerTests.read(clip)
        let sizes = try #require(Self.offsets(of: "stsz", in: bytes).first) + 16
        // At the end of a chunk, no other sample moves.
        for sample in [ends[3], ends[7], 59] {
            for index in 0..<4 { bytes[sizes + 4 * sample + index] = 0 }
        }
        let path = try OddContainerTests.write(bytes, "dropped.mp4", in: media)
        let imported = try OddContainerTests.import(path, in: media)
        #expect(imported.samples.pictures == 57 && imported.decoded.undecodable == 0)
        #expect(imported.report.isIntact && imported.notes.isEmpty, "\(imported.notes)")
        let copy = try OddContainerTests.remux(path, to: "copy.mkv", .matroska, in: media)
        #expect(copy.packets == 57 + imported.samples.sound && copy.hidden == 0)
        // A part that is missing is still found.
        let short = try OddContainerTests.write(bytes.dropLast(30_000), "short.mp4", in: media)
        #expect(throws: ContainerError.self) {
            try OddContainerTests.remux(short, to: "copy.mkv", .matroska, in: media)
        }
    }

    @Test func `damage that is not copied has the time of its picture`() throws {
        let media = try MediaFiles()
        let clip = try media.make("clip.mp4", OddContainerTests.clip)
        let picture = Int(try Self.pictures(of: clip).offsets[45])
        var bytes = try OddContainerTests.read(clip)
        bytes.replaceSubrange(picture..<picture + 4, with: [0x7F, 0xFF, 0xFF, 0xFF])
        let path = try OddContainerTests.write(bytes, "damaged.mp4", in: media)
        let error = #expect(throws: ContainerError.self) {
            try OddContainerTests.remux(path, to: "copy.mkv", .matroska, in: media)
        }
        let text = error?.description ?? ""
        #expect(text.contains("its h264 is damaged at 4 s"), "\(text)")
    }

    @Test func `PCM, whose samples are joined, is not damage`() throws {
        let media = try MediaFiles()
        let path = try media.make(
            "pcm.mov",
            OddContainerTests.clip.replacing("-c:a aac", with: "-c:a pcm_s16le"))
        let copy = try OddContainerTests.remux(path, to: "copy.mov", .mov, in: media)
        #expect(copy.packets > 60 && copy.hidden == 0)
    }

    @Test func `bytes after the index of fragments are not damage`() throws {
        let media = try MediaFiles()
        let bytes = try Self.fragmented(media) + [UInt8](repeating: 0xA5, count: 300)
        let path = try OddContainerTests.write(bytes, "more.mp4", in: media)
        #expect(try OddContainerTests.import(path, in: media).gaps.isEmpty)
        #expect(try OddContainerTests.remux(path, to: "copy.mp4", .mp4, in: media).losses == 0)
        #expect(FileVerifier.verify(path).report.isIntact)
    }

    @Test func `a repeated description before each fragment is not a second movie`() throws {
        let media = try MediaFiles()
        let bytes = try Self.fragmented(media)
        let starts = Self.offsets(of: "moof", in: bytes).map { $0 - 4 }
        let end = try #require(Self.offsets(of: "mfra", in: bytes).first) - 4
        let parts = zip(starts, starts.dropFirst() + [end]).map { bytes[$0..<$1] }
        let path = try OddContainerTests.write(
            parts.flatMap { bytes[..<starts[0]] + $0 }, "repeated.mp4", in: media)
        let imported = try OddContainerTests.import(path, in: media)
        #expect(imported.samples.pictures == 60 && imported.notes.isEmpty, "\(imported.notes)")
        #expect(FileVerifier.verify(path).report.findings.count == 1)
    }

    @Test(arguments: ["", fragments])
    func `two movies in one file are refused`(_ options: String) throws {
        let media = try MediaFiles()
        let bytes = try OddContainerTests.read(
            try media.make("clip.mp4", "\(OddContainerTests.clip) \(options)"))
        let path = try OddContainerTests.write(bytes + bytes, "two.mp4", in: media)
        let message = "a second movie begins at byte"
        let error = #expect(throws: DeviceError.self) {
            _ = try FileSource(path: path, kinds: [.video], loops: false)
        }
        #expect(error?.description.contains(message) == true)
        #expect(throws: ContainerError.self) {
            try OddContainerTests.remux(path, to: "copy.mp4", .mp4, in: media)
        }
    }

    @Test(arguments: ["stsz", "stsc"])
    func `samples that the tables do not place are noted, and not copied`(_ box: String) throws {
        let media = try MediaFiles()
        var bytes = try OddContainerTests.read(try media.make("clip.mp4", OddContainerTests.clip))
        let table = try #require(Self.offsets(of: box, in: bytes).first)
        // The size of the first picture, or the number of samples in the first chunks.
        bytes[table + 16] ^= 0x7f
        let path = try OddContainerTests.write(bytes, "damaged.mp4", in: media)
        let imported = try OddContainerTests.import(path, in: media)
        #expect(imported.samples.pictures < 60)
        #expect(imported.gaps.contains { $0.track == "video" })
        #expect(imported.notes.contains { $0.contains("pictures left out") }, "\(imported.notes)")
        #expect(throws: (any Error).self) {
            try OddContainerTests.remux(path, to: "copy.mp4", .mp4, in: media)
        }
    }

    @Test func `a track whose boxes are damaged is noted, and not copied`() throws {
        let media = try MediaFiles()
        var bytes = try OddContainerTests.read(try media.make("clip.mp4", OddContainerTests.clip))
        let times = try #require(Self.offsets(of: "stts", in: bytes).first)
        // The box's size field.
        bytes[times - 3] ^= 2
        let path = try OddContainerTests.write(bytes, "damaged.mp4", in: media)
        let imported = try OddContainerTests.import(path, in: media)
        #expect(imported.samples.pictures == 0 && imported.samples.sound > 0)
        #expect(imported.gaps.contains { $0.track == "video" && $0.samples == 60 })
        #expect(throws: (any Error).self) {
            try OddContainerTests.remux(path, to: "copy.mp4", .mp4, in: media)
        }
    }

    @Test func `samples that the edit list hides are counted`() throws {
        let media = try MediaFiles()
        var bytes = try OddContainerTests.read(try media.make("clip.mp4", OddContainerTests.clip))
        let edits = try #require(Self.offsets(of: "elst", in: bytes).first)
        for index in edits + 12..<edits + 16 { bytes[index] = 0 }
        let path = try OddContainerTests.write(bytes, "hidden.mp4", in: media)
        let imported = try OddContainerTests.import(path, in: media)
        let hidden = 60 - imported.samples.pictures
        #expect(hidden > 0)
        #expect(
            imported.notes.contains(
                "\(hidden) pictures that the file's edit list hides are left out"),
            "\(imported.notes)")
        #expect(try OddContainerTests.remux(path, to: "copy.mp4", .mp4, in: media).hidden > 0)
    }

    @Test func `an AVI whose index has more pictures than the file is noted`() throws {
        let media = try MediaFiles()
        var bytes = try OddContainerTests.read(
            try media.make(
                "clip.avi", OddContainerTests.clip.replacing("-bf 2", with: "-bf 0")))
        for index in bytes.count / 2..<bytes.count / 2 + 20_000 { bytes[index] = 0 }
        let path = try OddContainerTests.write(bytes, "damaged.avi", in: media)
        let imported = try OddContainerTests.import(path, in: media)
        #expect(imported.samples.pictures < 60)
        #expect(imported.gaps.contains { $0.track == "video" }, "\(imported.notes)")
        #expect(throws: ContainerError.self) {
            try OddContainerTests.remux(path, to: "copy.mkv", .matroska, in: media)
        }
    }
}
