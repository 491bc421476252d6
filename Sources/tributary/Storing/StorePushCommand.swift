import Archive
import ArgumentParser
import Media
import ObjectStore
import Synchronization
import Terminal
import Threads
import Uploading

/// `tributary store push`: uploads missing objects.
struct StorePushCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push",
        abstract:
            "Uploads finished segments, descriptions and ledgers that the store does not have.",
        discussion: """
            An interrupted push continues where it stopped. Growing files are left out. The store is listed first: objects that it has \
            lost are sent again. A busy or unreachable store is tried again for a minute. Exit status 1 when something is not in the store afterwards.
            """)

    @OptionGroup var place: StoreArguments

    @Argument(help: ArgumentHelp("Sessions. (default: all)", valueName: "session"))
    var sessions: [String] = []

    @OptionGroup(title: "Log") var log: LogFormatOptions

    /// Interval of progress lines.
    private static let lookNanoseconds: Int64 = 500_000_000

    func run() throws {
        try withStoreErrors {
            let shutdown = Shutdown()
            let bucket = try place.bucket(patience: .writing, shutdown: shutdown)
            let names = try place.sessions(sessions)
            var settings = place.settings
            settings.endsWithWork = true
            let problems = try dropProofs(
                of: names,
                in: UploadTarget(
                    bucket, place.archive.layout, settings: place.settings,
                    surroundings: .system(), figures: UploadFigures()))
            let uploader = Uploader(
                place.archive.layout, to: bucket, settings: settings,
                hooks: UploadHooks(log: { _, line in Program.complain(line) }), shutdown: shutdown)
            for name in names { uploader.changed(.session(name)) }
            uploader.start(looking: false)
            let console = Console()
            uploader.drain {
                let status = uploader.status
                console.progress(
                    "\(status.segments) segments, \(byteText(status.sentBytes)) sent, \(status.waiting) waiting"
                )
                return false
            }
            uploader.stop()
            console.endProgress()
            let status = uploader.status
            print(
                "\(status.segments) segments proven in \(bucket.name), \(byteText(status.sentBytes)) sent"
            )
            if let trouble = status.trouble {
                throw Failure("\(trouble); \(status.waiting) segments are not there yet")
            }
            guard status.setAside == 0, status.waiting == 0 else {
                throw Failure(
                    "\(max(status.setAside, status.waiting)) files are not in \(bucket.name): see the lines above"
                )
            }
            guard problems == 0 else {
                throw Failure("\(problems) segments are lost: see the lines above")
            }
        }
    }

    /// Has objects uploaded again that the store has lost.
    /// - Returns: the number of segments that cannot be, each with a line.
    private func dropProofs(of sessions: [String], in target: UploadTarget) throws -> Int {
        let lost = LostObjects(of: target)
        var problems = 0
        for session in sessions {
            let outcome = try target.patiently { () throws(UploadError) in
                try lost.dropProofs(of: session)
            }
            if outcome.segments + outcome.documents > 0 {
                Program.complain(
                    "\(target.bucket.name) no longer has \(outcome.segments) segments and \(outcome.documents) other files of \(session) as they were sent: it gets them again"
                )
            }
            for problem in outcome.problems { Program.complain(problem) }
            problems += outcome.problems.count
        }
        return problems
    }
}
