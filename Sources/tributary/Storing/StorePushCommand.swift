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
            An interrupted push continues where it stopped. Growing files are left out. Exit status 1 when something is not in the \
            store afterwards.
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
            let uploader = Uploader(
                place.archive.layout, to: bucket, settings: place.settings,
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
        }
    }
}
