import Archive
import Catalog
import Glibc
import Library
import Media
import Recordings

/// An arbitrary session directory with every reader of archives and recovery.
///
/// The input: a byte of flags, then description, notes, ledger and a list of files, each a block. Ledger lines get
/// valid checksums, so that their content is parsed.
enum ArchiveTarget {
    static let session = "2026-11-20T22-40-00.000Z"
    static let source = "camera"
    /// Names that files may have: segments on their grid, before the session, at the end of time, being removed, unnamed.
    static let names = [
        "2026-11-20T22-40-00.000Z.mp4", "2026-11-20T22-40-05.000Z.mp4",
        "2026-11-20T22-39-50.000Z.mp4", "2112-08-06T00-00-00.000Z.mp4",
        "2026-11-20T22-40-10.000Z.mp4.removing", "2026-11-20T22-40-15.000Z.mp4.new", "other.mp4",
        "1827-05-27T00-00-00.000Z.mp4",
    ]
    /// A directory with more files gives no further coverage.
    private static let maximumFiles = 4

    /// The parts of an input.
    struct Content {
        var sealsLedger = true
        var manifest: [UInt8] = []
        var notes: [UInt8] = []
        var ledger: [UInt8] = []
        var files: [(name: UInt8, bytes: [UInt8])] = []

        var bytes: [UInt8] {
            var writer = InputWriter()
            writer.byte(sealsLedger ? 0 : 1)
            for block in [manifest, notes, ledger] { writer.block(block) }
            for file in files {
                writer.byte(file.name)
                writer.block(file.bytes)
            }
            return writer.bytes
        }

        init() {}

        init(_ bytes: [UInt8]) {
            var reader = InputReader(bytes)
            sealsLedger = reader.byte() & 1 == 0
            manifest = reader.block()
            notes = reader.block()
            ledger = reader.block()
            while !reader.isAtEnd, files.count < maximumFiles {
                files.append((reader.byte(), reader.block()))
            }
        }
    }

    static func run(_ bytes: [UInt8]) {
        let layout = ArchiveLayout(root: root)
        do throws(ArchiveError) {
            try write(Content(bytes), layout)
            read(layout)
            attempt { () throws(ArchiveError) in
                _ = try ArchiveRecovery.run(
                    layout, now: UTCTime(nanoseconds: 1_795_300_000_000_000_000),
                    idleTimeoutNanoseconds: 0)
            }
            read(layout)
            try FileSystem.removeTree(root)
        } catch {
            preconditionFailure("the fuzzer's own disk works: \(error)")
        }
    }

    /// In a memory file system if possible.
    private static let root =
        (FileSystem.isDirectory("/dev/shm") ? "/dev/shm" : "/tmp") + "/tributary-fuzz-\(getpid())"

    private static func write(
        _ content: Content, _ layout: ArchiveLayout
    ) throws(ArchiveError) {
        let directory = layout.source(session, source)
        try FileSystem.makeDirectories(directory)
        try FileSystem.replace(layout.manifest(session), with: content.manifest)
        if !content.notes.isEmpty {
            try FileSystem.replace("\(layout.session(session))/notes.json", with: content.notes)
        }
        if !content.ledger.isEmpty {
            try FileSystem.replace(
                layout.ledger(session, source),
                with: content.sealsLedger ? sealed(content.ledger) : content.ledger)
        }
        for file in content.files {
            try FileSystem.replace(
                "\(directory)/\(names[Int(file.name) % names.count])", with: file.bytes)
        }
    }

    /// A ledger's lines with valid checksums.
    private static func sealed(_ bytes: [UInt8]) -> [UInt8] {
        bytes.split(separator: UInt8(ascii: "\n")).flatMap { LedgerTarget.sealed(Array($0)) }
    }

    /// The operations of `ls`, `show`, `verify`, `stop`, `export`, `index`, retention and `retime`.
    private static func read(_ layout: ArchiveLayout) {
        attempt { () throws(ArchiveError) in
            let catalog = try SQLiteCatalog.inMemory()
            _ = try CatalogIndexing.update(catalog, layout, everything: true)
            _ = try catalog.sessions(from: 0, until: 1_900_000_000_000_000_000)
        }
        attempt { () throws(ArchiveError) in
            let report = try SessionVerifier.verify(session, in: layout)
            precondition(report.sources.count <= 1)
        }
        attempt { () throws(ArchiveError) in _ = try SessionTotals(of: session, in: layout) }
        attempt { () throws(ArchiveError) in
            for source in try RecordedSession(session, in: layout).sources {
                _ = try source.gaps()
                guard let extent = try source.extent() else { continue }
                var reader = SampleReader(source, from: extent.startNanoseconds)
                while let sample = try reader.next() { _ = try sample.read() }
            }
        }
        attempt { () throws(ArchiveError) in
            let survey = try ArchiveSurvey(of: layout)
            _ = RemovalLimits(maximumAgeNanoseconds: 1, maximumBytes: 1)
                .expired(
                    of: survey.segments, freeBytes: 0,
                    now: UTCTime(nanoseconds: 1_795_300_000_000_000_000))
        }
        attempt { () throws(ArchiveError) in
            let retimer = try SessionRetimer(session, in: layout)
            _ = try retimer.retime(isDryRun: true)
        }
    }

    /// Any content may be refused, with an error of one line.
    private static func attempt(_ body: () throws(ArchiveError) -> Void) {
        do throws(ArchiveError) {
            try body()
        } catch {
            precondition(!"\(error)".isEmpty)
        }
    }
}
