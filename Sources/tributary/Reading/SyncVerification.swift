import Archive
import Encoding
import Files
import JSON
import Library
import Recordings
import SyncCheck
import Terminal

/// `tributary verify --sync`: measures timing errors with recordings of the test pattern.
struct SyncVerification {
    /// Sources measured together: a session, or the files of one command line.
    struct Measured: Encodable {
        var subject: String
        var report: SyncReport
    }

    private struct Report: Encodable {
        var isAccepted: Bool
        var measured: [Measured]
    }

    private struct File {
        var path: String
        /// Its zero on the sources' common timeline, nanoseconds.
        var originNanoseconds: Int64
        var bounds: RecordedBounds
    }

    let options: SyncOptions
    let archive: ArchiveOptions

    /// Measures and prints; whether everything is accepted, and whether every archive was read.
    func run(_ what: [String], json: Bool) throws -> (isAccepted: Bool, isComplete: Bool) {
        CodecLibrary.keepOffTerminal()
        var measured: [Measured] = []
        let finder = try archive.finder()
        let wanted = what.isEmpty ? try finder.library().sessionNames() : what
        if wanted.isEmpty { throw LibraryError.empty(archive: finder.archive) }
        var files: [String] = []
        for name in wanted {
            let (paths, found) = try finder.subjects(name)
            files += paths
            for place in found { measured.append(try measure(place)) }
        }
        if !files.isEmpty { measured.append(try measure(files: files)) }
        let unused = options.clock.map(\.source).filter { name in
            !measured.flatMap(\.report.sources).contains { $0.name == name }
                && !measured.flatMap(\.report.skippedSources).contains(name)
        }
        if let name = unused.first {
            throw Failure("--clock: there is no source '\(name)'")
        }
        let accepted = measured.allSatisfy(\.report.isAccepted)
        if json {
            try JSONOutput.print(Report(isAccepted: accepted, measured: measured))
        } else {
            for each in measured { SyncText.lines(each.subject, each.report).forEach { print($0) } }
        }
        return (accepted, !finder.isIncomplete)
    }

    /// A session's sources lie on its timeline: a file's zero is where its segment begins.
    private func measure(_ place: FoundSession) throws -> Measured {
        let session = place.name
        if let copies = try place.library.measuredCopies(of: session) {
            return try measure(session, copies)
        }
        let layout = try place.library.files(of: session, to: "measure time")
        let zero = try place.library.manifest(session).zeroTime
        var sources: [ObservedSource] = []
        for name in try layout.sourceNames(session) {
            let files = try layout.segmentPaths(session, name).map { path in
                try file(path, sessionZero: zero)
            }
            sources.append(try observe(name, files))
        }
        guard !sources.isEmpty else { throw Failure("session \(session) has no recording yet") }
        return Measured(subject: "session \(session)", report: measured(sources))
    }

    /// Measures a session of several archives on the first archive's timeline; adds up the bounds of all conversions.
    private func measure(_ session: String, _ copies: [SessionCopy]) throws -> Measured {
        if let apart = copies.first(where: { !$0.shift.isMeasured }) {
            throw Failure(
                "session \(session): the clocks of \(copies[0].archive) and \(apart.archive) were not compared, so their "
                    + "sources are not synchronous: measure each archive alone")
        }
        var sources: [ObservedSource] = []
        for copy in copies {
            guard let layout = copy.layout else {
                throw Failure(
                    "session \(session): \(copy.archive) is not read from a directory alone, and measuring time needs "
                        + "all its files in one: 'tributary store fetch \(session)' brings them there"
                )
            }
            for name in try layout.sourceNames(copy.session) {
                let files = try layout.segmentPaths(copy.session, name).map { path in
                    try file(path, sessionZero: copy.zero)
                }
                guard !files.isEmpty else { continue }
                let isOnce =
                    try copies.count { other in
                        try other.layout?.sourceNames(other.session).contains(name) == true
                    } == 1
                // An archive may have the session and a part of it.
                let part = copy.session == session ? "" : ", \(copy.session)"
                var source = try observe(
                    name, files, as: isOnce ? name : "\(name) (\(copy.archive)\(part))")
                source.observations.move { copy.shift.at($0).nanoseconds }
                source.bounds.move { time in
                    let shift = copy.shift.at(time)
                    return (shift.nanoseconds, shift.boundNanoseconds)
                }
                sources.append(source)
            }
        }
        guard !sources.isEmpty else { throw Failure("session \(session) has no recording yet") }
        return Measured(subject: "session \(session)", report: measured(sources))
    }

    /// Files that are named are taken to begin together, as players take them.
    private func measure(files: [String]) throws -> Measured {
        let sources = try files.map { path in
            try observe(
                path,
                [File(path: path, originNanoseconds: 0, bounds: try bounds(path).movedToZero())])
        }
        return Measured(subject: "files with a common start", report: measured(sources))
    }

    private func measured(_ sources: [ObservedSource]) -> SyncReport {
        SyncMeasurement.measure(sources, limitNanoseconds: options.maxError?.nanoseconds)
    }

    private func file(_ path: String, sessionZero: UTCTime) throws -> File {
        let bounds = try bounds(path)
        let begins = SegmentName(Path.name(of: path))?.origin
        guard
            let origin = bounds.originNanoseconds
                ?? begins.map({ $0.nanoseconds - sessionZero.nanoseconds })
        else {
            throw Failure(
                "\(path): no start time in its name or content, so it cannot be measured: leave it out"
            )
        }
        return File(path: path, originNanoseconds: origin, bounds: bounds)
    }

    private func bounds(_ path: String) throws -> RecordedBounds {
        do {
            return try RecordedBounds(readingFile: path)
        } catch {
            throw Failure("cannot read \(path): \(error)")
        }
    }

    /// - Parameter title: its name in the report; nil: the same.
    private func observe(
        _ name: String, _ files: [File], as title: String? = nil
    ) throws -> ObservedSource {
        var source = ObservedSource(
            name: title ?? name, files: files.map(\.path), observations: Observations())
        for file in files {
            do throws(SyncCheckError) {
                try RecordingReader.read(
                    file.path, originNanoseconds: file.originNanoseconds,
                    into: &source.observations)
            } catch {
                throw Failure("\(error)")
            }
            source.bounds.add(file.bounds)
        }
        if let option = options.clock.last(where: { $0.source == name }) {
            source.clock = option.clock
        }
        return source
    }
}
