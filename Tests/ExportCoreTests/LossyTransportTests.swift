import Archive
import Encoding
import ExportCore
import Foundation
import Recordings
import Media
import TestMedia
import Testing

/// Transport streams that have lost packets, and such that only look like it.
@Suite(.enabled(if: MediaFiles.canBeMade, "ffmpeg makes the media"))
struct LossyTransportTests {
    private static let packetBytes = 188

    /// Six seconds of ten pictures a second, an IDR picture each second.
    private static func stream(_ media: borrowing MediaFiles, _ name: String) throws -> [UInt8] {
        let path = try media.make(
            name,
            "-f lavfi -i testsrc2=s=320x240:r=10:d=6 -f lavfi -i sine=r=48000:d=6 "
                + "-c:v libx264 -g 10 -bf 2 -b:v 800k -c:a aac")
        return [UInt8](try Data(contentsOf: URL(filePath: path)))
    }

    private static func packets(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        stride(from: 0, to: bytes.count, by: packetBytes).map {
            bytes[$0..<min(bytes.count, $0 + packetBytes)]
        }
    }

    private static func pid(_ packet: ArraySlice<UInt8>) -> Int {
        Int(packet[packet.startIndex + 1] & 0x1f) << 8 | Int(packet[packet.startIndex + 2])
    }

    private static func beginsUnit(_ packet: ArraySlice<UInt8>) -> Bool {
        packet[packet.startIndex + 1] & 0x40 != 0
    }

    private struct Imported {
        var report: SessionReport
        var source: RecordingImport.Result
        var gaps: [LedgerEntry]
        var pictures: Int
    }

    private static func `import`(
        _ bytes: [UInt8], in media: borrowing MediaFiles
    ) throws -> Imported {
        CodecLibrary.keepOffTerminal()
        let path = media.directory.appending(path: "lossy.ts").path
        try Data(bytes).write(to: URL(filePath: path))
        let layout = ArchiveLayout(root: media.directory.appending(path: "recordings").path)
        let result = try RecordingImport(
            [path], into: layout, options: RecordingImport.Options(), control: WorkControl()
        ).run()
        let session = try RecordedSession(result.session, in: layout)
        let ledger = try Ledger.read(layout.ledger(result.session, "lossy"))
        var pictures = 0
        for file in session.sources[0].files {
            // Ends at the first error of a decoder.
            _ = try media.run([
                "-xerror", "-err_detect", "explode", "-i", file.path, "-f", "null", "-",
            ])
            pictures += try #require(try DecodingCheck.check(file.opened(), control: WorkControl()))
                .pictures
        }
        return Imported(
            report: try SessionVerifier.verify(result.session, in: layout), source: result,
            gaps: ledger.entries.filter { $0.kind == .gap }, pictures: pictures)
    }

    @Test func `a damaged picture is dropped, up to the next one at which decoding can start`()
        throws
    {
        let media = try MediaFiles()
        let packets = Self.packets(try Self.stream(media, "a.ts"))
        // The first packet of the third second that continues a picture.
        let video = packets.indices.filter { Self.pid(packets[$0]) == 0x100 }
        let begins = video.filter { Self.beginsUnit(packets[$0]) }
        let lost = begins[23] + 1
        #expect(video.contains(lost) && !Self.beginsUnit(packets[lost]))
        let bytes = packets.indices.filter { $0 != lost }.flatMap { packets[$0] }
        let imported = try Self.import(bytes, in: media)
        #expect(imported.report.isIntact, "\(imported.report.allFindings)")
        let gap = try #require(imported.gaps.first)
        #expect(imported.gaps.count == 1)
        #expect((gap.track, gap.cause) == ("video", "damaged-input"))
        // Seven of the group follow the one with the hole.
        #expect(gap.samples == 7)
        #expect(imported.pictures == 53)
        let notes = imported.source.sources[0].notes
        #expect(notes.contains { $0.contains("7 pictures left out in a gap at 2 s") })
    }

    @Test func `a damaged audio packet is dropped alone`() throws {
        let media = try MediaFiles()
        let packets = Self.packets(try Self.stream(media, "a.ts"))
        let sound = packets.indices.filter { Self.pid(packets[$0]) == 0x101 }
        let lost = try #require(
            sound.dropFirst(sound.count / 2).first { !Self.beginsUnit(packets[$0]) })
        let bytes = packets.indices.filter { $0 != lost }.flatMap { packets[$0] }
        let imported = try Self.import(bytes, in: media)
        #expect(imported.report.isIntact, "\(imported.report.allFindings)")
        #expect(imported.gaps.map(\.track) == ["audio"])
        #expect(imported.pictures == 60)
    }

    @Test func `with every fiftieth packet missing, all remaining samples decode`() throws {
        let media = try MediaFiles()
        let packets = Self.packets(try Self.stream(media, "a.ts"))
        let bytes = packets.indices.filter { $0 % 251 != 250 }.flatMap { packets[$0] }
        let imported = try Self.import(bytes, in: media)
        #expect(imported.report.isIntact, "\(imported.report.allFindings)")
        let missing = imported.gaps.filter { $0.track == "video" }.reduce(0) {
            $0 + ($1.samples ?? 0)
        }
        #expect(imported.pictures + Int(missing) == 60)
        #expect(imported.pictures > 0)
    }

    @Test func `joined streams and null packets are not a loss`() throws {
        let media = try MediaFiles()
        let first = try Self.stream(media, "a.ts")
        let null: [UInt8] =
            [0x47, 0x1f, 0xff, 0x10] + [UInt8](repeating: 0xff, count: Self.packetBytes - 4)
        let packets = Self.packets(first)
        let stuffed = packets.indices.flatMap { index in
            packets[index] + (index % 50 == 25 ? null : [])
        }
        let imported = try Self.import(stuffed + first, in: media)
        #expect(imported.gaps.isEmpty)
        #expect(imported.pictures == 120)
    }

    @Test func `a stream that ends within a packet lacks the end of its last picture`() throws {
        let media = try MediaFiles()
        let packets = Self.packets(try Self.stream(media, "a.ts"))
        let video = packets.indices.filter { Self.pid(packets[$0]) == 0x100 }
        let begins = video.filter { Self.beginsUnit(packets[$0]) }
        let last = begins[40] + 1
        #expect(video.contains(last) && !Self.beginsUnit(packets[last]))
        let bytes = packets[..<last].joined() + packets[last].prefix(100)
        let imported = try Self.import(Array(bytes), in: media)
        #expect(imported.gaps.map(\.track) == ["video"] && imported.gaps.map(\.samples) == [1])
        #expect(imported.pictures == 40)
    }

    @Test func `a repeated packet is not damage`() throws {
        let media = try MediaFiles()
        let packets = Self.packets(try Self.stream(media, "a.ts"))
        let video = packets.indices.filter { Self.pid(packets[$0]) == 0x100 }
        let begins = video.filter { Self.beginsUnit(packets[$0]) }
        let twice = begins[23] + 1
        let bytes = packets.indices.flatMap { packets[$0] + ($0 == twice ? packets[$0] : []) }
        let imported = try Self.import(bytes, in: media)
        #expect(imported.gaps.isEmpty)
        #expect(imported.pictures == 60)
    }
}
