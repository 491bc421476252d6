package import Archive
import Containers
import Devices
import Encoding
import CLinux
import Files
import Glibc
import Media

/// Imports foreign files into an archive as a session: each file becomes a source, all beginning at the session's zero.
///
/// Pictures and audio are copied byte for byte, through the same segmenter and writer as received samples, so the result is
/// an ordinary recording. The session is written beside the others, and appears when it is complete.
package struct RecordingImport {
    package struct Options: Hashable, Sendable {
        package var segmentNanoseconds: Int64 = 600_000_000_000
        /// The session's zero; nil: the creation time in the first file, or else its modification time.
        package var zero: UTCTime?
        /// The sources' names, by file; by default the file's name.
        package var names: [String] = []
        /// The software named in the manifest.
        package var software = ""

        package init() {}
    }

    /// The result for a file.
    package struct ImportedSource: Hashable, Sendable {
        package var name: String
        package var path: String
        package var tracks: [String]
        package var summary: ExportSummary
        /// Notes on dropped streams and repaired clocks.
        package var notes: [String]
    }

    /// The result of the import.
    package struct Result: Hashable, Sendable {
        package var session: String
        package var sources: [ImportedSource]
    }

    private let paths: [String]
    private let layout: ArchiveLayout
    private let options: Options
    private let control: WorkControl

    package init(
        _ paths: [String], into layout: ArchiveLayout, options: Options, control: WorkControl
    ) {
        self.paths = paths
        self.layout = layout
        self.options = options
        self.control = control
    }

    package func run() throws -> Result {
        let names = try sourceNames()
        var durations: [Int64] = []
        var edits: [EditLists] = []
        var recorded: UTCTime?
        for path in paths {
            let probe = try ContainerProbe(path)
            guard !probe.isEncrypted else {
                throw ExportError.refused(
                    path: path, reason: "it is encrypted and cannot be read")
            }
            guard !probe.isDistorted else {
                throw ExportError.refused(
                    path: path,
                    reason:
                        "its display matrix scales or skews the video, which recordings cannot store: transcode it with "
                        + "ffmpeg -i FILE -c:a copy NEW.mp4")
            }
            edits.append(try EditLists(of: path))
            durations.append(probe.durationNanoseconds ?? 0)
            recorded = recorded ?? probe.creationTime.flatMap(Self.time)
        }
        try FileSystem.makeDirectories(layout.root)
        ImportPlace.removeAbandoned(in: layout.root)
        let (zero, place) = try reserve(options.zero ?? recorded ?? NamedPath.modified(paths[0]))
        let session = zero.fileName
        let staging = ArchiveLayout(root: place.path)
        do {
            // Left by an import that was killed.
            try FileSystem.removeTree(staging.sessions)
            try FileSystem.makeDirectories(staging.session(session))
            let result = try write(
                session: session, zero: zero, names: names, edits: edits, durations: durations,
                in: staging)
            try FileSystem.makeDirectories(layout.sessions)
            let own = staging.session(session)
            guard layout.disk.rename(own, to: layout.session(session)) == 0 else {
                throw ExportError.system(
                    operation: "name", path: layout.session(session), reason: systemMessage(errno))
            }
            try FileSystem.synchronizeDirectory(layout.sessions)
            try place.remove()
            return result
        } catch {
            try place.remove()
            throw error
        }
    }

    private func write(
        session: String, zero: UTCTime, names: [String], edits: [EditLists], durations: [Int64],
        in staging: ArchiveLayout
    ) throws -> Result {
        var manifest = SessionManifest(
            session: session, zero: zero, zeroMonotonicNanoseconds: 0, startAt: .firstSample,
            startWindowNanoseconds: 0, segmentNanoseconds: options.segmentNanoseconds,
            software: options.software)
        var imported: [ImportedSource] = []
        let total = durations.reduce(0, +)
        var before: Int64 = 0
        for (index, path) in paths.enumerated() {
            let source = ForeignSource(
                path: path, name: names[index], edits: edits[index], session: session, zero: zero,
                segmentNanoseconds: options.segmentNanoseconds, layout: staging)
            let done = before
            let own = WorkControl(cancellation: control.cancellation) { fraction in
                control.progress(done + Int64(Double(durations[index]) * fraction), of: total)
            }
            let written = try source.write(
                durationNanoseconds: durations[index], control: own)
            before += durations[index]
            imported.append(
                ImportedSource(
                    name: names[index], path: path, tracks: written.entry.tracks,
                    summary: written.summary, notes: written.notes))
            manifest.sources.append(written.entry)
        }
        manifest.state = .finished
        manifest.end = SessionManifest.End(reason: .complete, at: Self.now)
        try FileSystem.replace(staging.manifest(session), with: manifest.encoded())
        return Result(session: session, sources: imported)
    }

    static var now: UTCTime { UTCTime(nanoseconds: SystemClock.utc.nowNanoseconds) }

    /// An instant, to the millisecond, at which no session of the archive begins, and no other import's.
    private func reserve(_ wanted: UTCTime) throws -> (UTCTime, ImportPlace) {
        var zero = UTCTime(nanoseconds: wanted.nanoseconds / 1_000_000 * 1_000_000)
        while true {
            if !FileSystem.exists(layout.session(zero.fileName)),
                let place = try ImportPlace.reserve(zero.fileName, in: layout.root)
            {
                // The other import may have finished in between.
                if !FileSystem.exists(layout.session(zero.fileName)) { return (zero, place) }
                try place.remove()
            }
            guard options.zero == nil else {
                throw ExportError.refused(
                    path: layout.session(zero.fileName),
                    reason:
                        "a session with this start time already exists: use another --at")
            }
            zero = UTCTime(nanoseconds: zero.nanoseconds + 1_000_000)
        }
    }

    /// Parses `2026-11-20T22:40:00.000000Z`; nil for invalid or implausibly early times.
    private static func time(_ text: String) -> UTCTime? {
        CivilTime(text.utf8.prefix(19)).flatMap { UTCTime($0) }.flatMap {
            $0.nanoseconds > 0 ? $0 : nil
        }
    }

    /// A unique name for each file.
    private func sourceNames() throws -> [String] {
        var names: [String] = []
        for (index, path) in paths.enumerated() {
            if index < options.names.count {
                guard DirectoryName.isValidSource(options.names[index]) else {
                    throw ArchiveError.badName(options.names[index])
                }
                names.append(options.names[index])
                continue
            }
            let file = Path.name(of: path)
            let stem = file.lastIndex(of: ".").map { String(file[..<$0]) } ?? file
            var base = ArchiveLayout.validName(from: stem)
            if !DirectoryName.isValidSource(base), let dot = base.lastIndex(of: ".") {
                base.replaceSubrange(dot...dot, with: "-")
            }
            var name = base
            var number = 2
            while names.contains(name) {
                name = "\(base.prefix(ArchiveLayout.maximumNameBytes - 4))-\(number)"
                number += 1
            }
            names.append(name)
        }
        guard Set(names).count == names.count else {
            throw ExportError.refused(
                path: paths.joined(separator: ", "),
                reason: "two sources have the same name: set names with --source")
        }
        return names
    }
}
