import Archive
import Containers
import Devices
import ExportCore
import Foundation
import Library
import Media
import MP4
import Recordings
import Testing
import TestMedia

@Suite(.enabled(if: MediaFiles.canBeMade, "ffmpeg makes the media")) struct PassthroughTests {
    @Test func `an imported file is a sound session of several segments`() throws {
        let archive = try ImportedArchive()
        let report = try SessionVerifier.verify(archive.session.name, in: archive.layout)
        #expect(report.isIntact)
        #expect(archive.session.source("stage")?.files.count == 3)
    }

    @Test(arguments: [false, true], [false, true])
    func `segments become one file with every sample as it was recorded`(
        isQuickTime: Bool, isFastStart: Bool
    ) throws {
        let archive = try ImportedArchive()
        let name = isQuickTime ? "out.mov" : "out.mp4"
        let summary = try archive.export(try archive.range(), to: name) { options in
            options.flavour = isQuickTime ? .quickTime : .mp4
            options.isFastStart = isFastStart
        }
        #expect(summary.pictures == 150)
        let bytes = try Data(contentsOf: URL(filePath: archive.path(name)))
        let index = try #require(bytes.range(of: Data("moov".utf8)))
        let media = try #require(bytes.range(of: Data("mdat".utf8)))
        #expect((index.lowerBound < media.lowerBound) == isFastStart)
        for words in ["-map 0:v -c copy", "-map 0:a -c copy", "-map 0:v"] {
            #expect(
                try archive.hash(archive.path(name), words)
                    == archive.hash(archive.clips[0], words))
        }
        // The encoder's priming is audible in neither.
        let sounds = try [archive.path(name), archive.clips[0]].map { try archive.sound($0) }
        #expect(sounds[0].prefix(500_000) == sounds[1].prefix(500_000))
        #expect(abs(sounds[0].count - sounds[1].count) <= 2_048)
    }

    @Test func `files that no descriptor leads to are exported as those of a disk`() throws {
        let archive = try ImportedArchive()
        try archive.export(try archive.range(), to: "near.mp4")
        let distant = try RecordedSession(
            archive.session.name, in: DistantStore(near: DirectoryStore(archive.layout)))
        try archive.export(
            ExportRange(source: try #require(distant.source("stage")), sessionZero: distant.zero),
            to: "far.mp4")
        let files = try ["near.mp4", "far.mp4"].map {
            try Data(contentsOf: URL(filePath: archive.path($0)))
        }
        #expect(files[0] == files[1])
    }

    @Test(arguments: [false, true], [false, true])
    func `an export verifies as an export, and damage in it is found`(
        isQuickTime: Bool, isFastStart: Bool
    ) throws {
        let archive = try ImportedArchive()
        let name = isQuickTime ? "out.mov" : "out.mp4"
        try archive.export(try archive.range(), to: name) { options in
            options.flavour = isQuickTime ? .quickTime : .mp4
            options.isFastStart = isFastStart
        }
        let report = FileVerifier.verify(archive.path(name)).report
        #expect(report.isIntact, "\(report.findings)")
        #expect(report.state == .foreign)
        #expect(report.tracks.first?.samples == 150)
        // Damage in it is detected.
        var bytes = try Data(contentsOf: URL(filePath: archive.path(name)))
        let place = try #require(bytes.range(of: Data("stsz".utf8))).upperBound + 4
        bytes[place + 7] ^= 0x10
        try bytes.write(to: URL(filePath: archive.path(name)))
        #expect(!FileVerifier.verify(archive.path(name)).report.isIntact)
    }

    @Test func `a recording with a damaged beginning is not verified as an export`() throws {
        let archive = try ImportedArchive()
        let path = try #require(archive.session.source("stage")?.files.first?.path)
        var bytes = try Data(contentsOf: URL(filePath: path))
        #expect(bytes[52..<56].elementsEqual("moov".utf8))
        bytes[52] ^= 0x10
        try bytes.write(to: URL(filePath: path))
        let report = FileVerifier.verify(path).report
        #expect(!report.isIntact && report.state == .unreadable)
    }

    @Test func `a cut begins with exactly the wanted picture and the wanted sound`() throws {
        let archive = try ImportedArchive()
        // 8 pictures behind a keyframe, in the second segment; into the third.
        try archive.export(try archive.range(from: 3.32, seconds: 2), to: "cut.mp4")
        let cut = archive.path("cut.mp4")
        let trimmed = "trim=start=3.32:duration=2,setpts=PTS-STARTPTS"
        #expect(
            try archive.hash(cut, "-map 0:v")
                == archive.hash(archive.clips[0], "-map 0:v -vf \(trimmed)"))
        let expected = try archive.sound(archive.clips[0], "-af atrim=start=3.32:duration=2")
        let sound = try archive.sound(cut)
        #expect(sound.prefix(180_000) == expected.prefix(180_000))
        #expect(abs(sound.count - expected.count) <= 2_048)
    }

    @Test func `a cut between two pictures begins with the one being shown, and its audio`()
        throws
    {
        let archive = try ImportedArchive()
        // Pictures are presented at 3.32 and 3.36.
        try archive.export(try archive.range(from: 3.33, seconds: 2), to: "cut.mp4")
        var source = try FileSource(inspecting: archive.path("cut.mp4"), kinds: [.video])
        var first = Int64.max
        while let packet = try source.next() {
            if !packet.isDiscarded { first = min(first, packet.ptsNanoseconds ?? .max) }
        }
        #expect(abs(first) < 100_000)
        // The picture of 3.32 until 3.36, and the following ones unchanged.
        let trimmed = "trim=start=3.32:end=5.33,setpts=N/25/TB"
        #expect(
            try archive.hash(archive.path("cut.mp4"), "-map 0:v -vf setpts=N/25/TB")
                == archive.hash(archive.clips[0], "-map 0:v -vf \(trimmed)"))
        let expected = try archive.sound(archive.clips[0], "-af atrim=start=3.33:duration=2")
        #expect(
            try archive.sound(archive.path("cut.mp4")).prefix(180_000) == expected.prefix(180_000))
    }

    @Test(arguments: [ContainerFormat.matroska, .mpegTS])
    func `other containers begin at the keyframe before, with its sound`(
        _ format: ContainerFormat
    ) throws {
        let archive = try ImportedArchive()
        let path = archive.path("cut.\(format.name)")
        let output = try OutputFile(path, overwrites: true)
        let summary = try ContainerExport(
            archive.range(from: 3.32, seconds: 2), to: output, format: format, closesGaps: false,
            control: WorkControl()
        ).run()
        #expect(summary.startNanoseconds == 3_000_000_000)
        #expect(summary.notes.count == 1)
        // A reference picture may follow the end.
        let trimmed = "trim=start=3:end=5.32,setpts=PTS-STARTPTS"
        #expect(
            try archive.hash(path, "-map 0:v -frames:v 58")
                == archive.hash(archive.clips[0], "-map 0:v -vf \(trimmed) -frames:v 58"))
    }

    @Test(arguments: [ContainerFormat.matroska, .mpegTS], [1.9, 1.94, 1.98, 2.02])
    func `other containers end with the last picture that is needed`(
        _ format: ContainerFormat, seconds: Double
    ) throws {
        let archive = try ImportedArchive()
        let path = archive.path("cut.\(format.name)")
        _ = try ContainerExport(
            archive.range(from: 3, seconds: seconds), to: OutputFile(path, overwrites: true),
            format: format, closesGaps: false, control: WorkControl()
        ).run()
        var source = try FileSource(inspecting: path, kinds: [.video])
        var times: [Int64] = []
        while let packet = try source.next() { times.append(packet.ptsNanoseconds ?? 0) }
        // Within one group of pictures, the pictures before the end, and one that they refer to.
        let shown = Int((seconds * 25).rounded(.up))
        #expect((shown...shown + 1).contains(times.count))
        let first = try #require(times.min())
        #expect(try #require(times.last) - first < Int64(seconds * 1e9))
    }

    @Test(arguments: [ContainerFormat.matroska, .mpegTS], [nil, 3])
    func `sound begins with the packet before, without which it fades in`(
        _ format: ContainerFormat, start: Double?
    ) throws {
        let archive = try ImportedArchive()
        let path = archive.path("copy.\(format.name)")
        _ = try ContainerExport(
            archive.range(from: start, seconds: start == nil ? nil : 2),
            to: OutputFile(path, overwrites: true), format: format, closesGaps: false,
            control: WorkControl()
        ).run()
        let from = Int((start ?? 0) * 48_000)
        let expected = try archive.sound(archive.clips[0]).dropFirst(2 * from).prefix(180_000)
        let sound = try archive.sound(path)
        var source = try FileSource(inspecting: path, kinds: [.video, .audio])
        var first: [TrackKind: Int64] = [:]
        while let packet = try source.next() {
            let time = packet.ptsNanoseconds ?? .max
            first[packet.track] = min(first[packet.track] ?? .max, time)
        }
        let lead = try #require(first[.video]) - (try #require(first[.audio]))
        let frames = Int((Double(lead) * 48_000 / 1e9).rounded())
        #expect((1_000..<2_048).contains(frames))
        // Matroska's times are milliseconds.
        let place = try #require(sound.range(of: expected.prefix(4_096)))
        #expect(abs(place.lowerBound / 2 - frames) <= 48)
        #expect(sound.dropFirst(place.lowerBound).prefix(180_000) == expected)
    }

    @Test func `a gap keeps its duration, or is closed`() throws {
        let archive = try ImportedArchive([
            "gap.mkv":
                "-f lavfi -i testsrc2=s=320x180:r=25:d=6,select=lt(t\\,2)+gte(t\\,5) -vsync vfr "
                + "\(MediaFiles.h264)"
        ])
        let kept = try archive.export(try archive.range("gap"), to: "kept.mp4")
        let closed = try archive.export(try archive.range("gap"), to: "closed.mp4") {
            $0.closesGaps = true
        }
        #expect(kept.pictures == closed.pictures)
        #expect(abs(kept.durationNanoseconds - 6_000_000_000) < 50_000_000)
        #expect(abs(closed.closedNanoseconds - 3_000_000_000) < 50_000_000)
        let lengths = try ["kept.mp4", "closed.mp4"].map {
            try ContainerProbe(archive.path($0)).durationNanoseconds ?? 0
        }
        #expect(abs(lengths[0] - lengths[1] - 3_000_000_000) < 50_000_000)
    }

    @Test func `a gap at an edge of the range is closed within the range`() throws {
        let archive = try ImportedArchive([
            "gap.mkv":
                "-f lavfi -i testsrc2=s=320x180:r=25:d=6,select=lt(t\\,2)+gte(t\\,5) -vsync vfr "
                + "\(MediaFiles.h264)"
        ])
        // Nothing is there from 2 to 5 s.
        for (start, seconds, closed, length) in [
            (3.0, 3.0, 2.0, 1.0), (1.0, 3.0, 0.0, 1.0), (1.0, 5.0, 3.0, 2.0),
        ] {
            let summary = try archive.export(
                try archive.range("gap", from: start, seconds: seconds), to: "edge.mp4"
            ) { $0.closesGaps = true }
            #expect(abs(Double(summary.closedNanoseconds) / 1e9 - closed) < 0.05, "\(start)")
            #expect(abs(Double(summary.durationNanoseconds) / 1e9 - length) < 0.05, "\(start)")
            // Every picture in the requested time is visible.
            let trimmed = "trim=start=\(start):duration=\(seconds),setpts=N/25/TB"
            #expect(
                try archive.hash(archive.path("edge.mp4"), "-map 0:v -vf setpts=N/25/TB")
                    == archive.hash(archive.clips[0], "-map 0:v -vf \(trimmed)"), "\(start)")
        }
    }

    @Test func `cancelled work leaves no file`() throws {
        let archive = try ImportedArchive()
        let before = try FileManager.default.contentsOfDirectory(
            atPath: archive.media.directory.path)
        let control = WorkControl()
        control.cancellation.cancel()
        let range = try archive.range()
        let path = archive.path("out.mp4")
        #expect(throws: ExportError.cancelled) {
            var export = try MovieExport(
                range, to: OutputFile(path, overwrites: false), options: MovieExport.Options(),
                control: control)
            _ = try export.run()
        }
        let after = try FileManager.default.contentsOfDirectory(
            atPath: archive.media.directory.path)
        #expect(Set(before) == Set(after))
    }

    @Test func `an existing output, or one that is an input, is not overwritten`() throws {
        let archive = try ImportedArchive()
        let input = archive.clips[0]
        #expect(throws: ExportError.outputExists(input)) {
            _ = try OutputFile(input, overwrites: false)
        }
        #expect(throws: ExportError.outputIsInput(input)) {
            _ = try OutputFile(input, overwrites: true, inputs: [input])
        }
    }
}

/// A directory's files as in an object store: remote reads, and paths that do not exist on disk.
private struct DistantStore: SegmentStore {
    let near: DirectoryStore

    var name: String { "s3://bucket" }

    func path(_ file: StoredPath) -> String { "\(name)/\(file)" }

    func list(_ folder: StoredPath) throws(ArchiveError) -> [StoredEntry] { try near.list(folder) }

    func open(_ file: StoredPath) throws(ArchiveError) -> any StoredFile {
        DistantFile(near: try near.open(file), path: path(file))
    }

    func put(_ bytes: [UInt8], at file: StoredPath) throws(ArchiveError) {
        try near.put(bytes, at: file)
    }

    func delete(_ file: StoredPath) throws(ArchiveError) { try near.delete(file) }
}

private struct DistantFile: StoredFile {
    let near: any StoredFile
    let path: String

    var isDistant: Bool { true }

    func sizeBytes() throws(ArchiveError) -> Int64 { try near.sizeBytes() }

    func read(
        at offset: Int64, into buffer: UnsafeMutableRawBufferPointer
    ) throws(ArchiveError) -> Int {
        try near.read(at: offset, into: buffer)
    }
}
