import Archive
import Containers
import ExportCore
import Foundation
import Library
import Media
import MP4
import Recordings
import Testing
import TestMedia
import TestRecordings

/// Own recordings of more than four gigabytes.
@Suite(.enabled(if: MediaFiles.canBeMade, "ffmpeg makes the media")) struct DistantTests {
    @Test
    func `media after the fourth gigabyte are finished, verified and extracted`() throws {
        let archive = try ImportedArchive()
        func extract(_ session: RecordedSession, _ name: String, _ kind: TrackKind) throws -> Data {
            let path = archive.path(name)
            _ = try StreamExtraction(
                ExportRange(
                    source: try #require(session.source("stage")), sessionZero: session.zero),
                of: kind, to: .file(OutputFile(path, overwrites: true)), control: WorkControl()
            ).run()
            return try Data(contentsOf: URL(filePath: path))
        }
        let pictures = try extract(archive.session, "near.h264", .video)
        let sound = try extract(archive.session, "near.aac", .audio)
        let files = try #require(archive.session.source("stage")).files.map(\.path)
        let hashes = try files.map { try archive.hash($0, "-map 0:v -map 0:a -c copy") }

        // As if a collector had been killed when the files had grown so long.
        for file in files {
            try DistantRecording.reopen(file)
            try DistantRecording.push(file)
        }
        let description = archive.layout.manifest(archive.session.name)
        var manifest = try SessionManifest.read(description)
        manifest.state = .recording
        try FileSystem.replace(description, with: manifest.encoded())
        let recovered = try ArchiveRecovery.run(
            archive.layout, now: FileSystem.modified(description), idleTimeoutNanoseconds: 0)
        #expect(recovered.session == nil)

        for (file, hash) in zip(files, hashes) {
            let movie = try DescriptorSource.withFile(file) { try Movie.read(from: $0) }
            for track in movie.tracks where track.kind != nil {
                #expect(track.samples.offsets.allSatisfy { $0 > Int64(UInt32.max) })
            }
            #expect(try archive.hash(file, "-map 0:v -map 0:a -c copy") == hash)
        }
        let report = try SessionVerifier.verify(archive.session.name, in: archive.layout)
        #expect(report.isIntact, "\(report.allFindings)")
        let session = try RecordedSession(archive.session.name, in: archive.layout)
        #expect(try extract(session, "far.h264", .video) == pictures)
        #expect(try extract(session, "far.aac", .audio) == sound)

        try archive.export(
            ExportRange(
                source: try #require(session.source("stage")), sessionZero: session.zero),
            to: "far.mp4")
        for words in ["-map 0:v -c copy", "-map 0:a -c copy"] {
            #expect(
                try archive.hash(archive.path("far.mp4"), words)
                    == archive.hash(archive.clips[0], words))
        }
        let copy = archive.path("copy.mkv")
        _ = try RemuxJob(
            files[0], to: OutputFile(copy, overwrites: true), format: .matroska,
            isFastStart: false, control: WorkControl()
        ).run()
        #expect(
            try archive.hash(copy, "-map 0:v") == archive.hash(files[0], "-map 0:v"))
    }
}
