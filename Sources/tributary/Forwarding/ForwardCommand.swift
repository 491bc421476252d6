import Archive
import ArgumentParser
import Containers
import Encoding
import ForwardCore
import Glibc
import Logging
import Messaging
import Terminal
import Trust

/// `tributary forward`: sends a live source to a streaming server.
struct ForwardCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forward",
        abstract: "Sends a live source to another server as it is captured.",
        discussion: """
            The destination is a stream URL of libavformat: srt:// and udp:// (MPEG-TS), rtmp:// (FLV) or rtsp://. Nothing is \
            transcoded: rtmp:// supports H.264 and AAC only, and other codecs end the command. Sending starts with a keyframe. If \
            the connection ends or blocks for 5 s, it is reopened; samples older than 8 s are dropped up to a keyframe, and \
            counted. UDP datagrams hold 7 packets of MPEG-TS (1316 bytes) unless the URL has another ?pkt_size=.

            A collector or a source that is not there yet is waited for; a line, and "trouble" of --json, state the reason. Exit \
            status 77 when the collector does not admit this machine's key, or its socket may not be opened.

            A stream key or passphrase in the URL can be read by every user of this machine (ps): put the URL into a file that \
            only its owner can read (--url-file), or into TRIBUTARY_FORWARD_URL. Logs name the host only.

            Recording is not affected. Stop with Ctrl-C or SIGTERM.
            """)

    @Argument(help: ArgumentHelp("Name of the source.", valueName: "source"))
    var source: String

    @Argument(
        help: ArgumentHelp("Destination: srt://, rtmp://, rtsp:// or udp://.", valueName: "url"))
    var url: String?

    @Option(help: ArgumentHelp("File whose first line is the destination.", valueName: "file"))
    var urlFile: String?

    @OptionGroup var archive: DirectoryOptions

    @Option(
        help: ArgumentHelp(
            """
            Endpoint at which a collector publishes live pictures: tcp://ADDRESS:PORT or ipc://PATH. (default: the collector's \
            socket in the archive)
            """, valueName: "endpoint"))
    var feed: String?

    @OptionGroup(title: "Keys") var keys: KeyOptions

    @Flag(help: "Print a line of JSON each second.")
    var json = false

    @OptionGroup(title: "Log") var log: LogOptions

    func validate() throws {
        guard ArchiveLayout.isValidName(source) else {
            throw ValidationError("'\(source)' is not a name of a source")
        }
        if url != nil, urlFile != nil {
            throw ValidationError("give the URL or --url-file, not both")
        }
        if let url, let flaw = StreamURL.flaw(onCommandLine: url) { throw ValidationError(flaw) }
        if let feed, let flaw = Endpoint.flaw(feed) { throw ValidationError("--feed: \(flaw)") }
        try keys.validate()
    }

    func run() throws {
        let text = try destination()
        let address: StreamAddress
        do throws(StreamAddressError) {
            address = try StreamAddress(parsing: text)
        } catch {
            throw UsageError("the destination \(error)")
        }
        let console = log.console
        var logger = Logger(label: "forward") { _ in LineLogHandler(console: console) }
        logger.logLevel = log.verbose ? .debug : .notice
        let own = archive.layout.feed
        if feed == nil, NamedPath.isLink(own) {
            throw Failure("\(own) is a link: give --feed")
        }
        let endpoint = feed ?? "ipc://\(own)"
        CodecLibrary.keepOffTerminal()
        var settings = Forwarder.Settings(
            source: source, feed: endpoint, destination: .url(address.url),
            format: address.format)
        if feed != nil {
            settings.security = try keys.security(
                for: endpoint, source: "forward", watches: true, logger: logger)
        }
        let forwarder: Forwarder
        do throws(MessagingError) {
            forwarder = try Forwarder(settings, logger: logger)
        } catch {
            throw Failure("\(error)")
        }
        do throws(ForwardError) {
            let signals = StopSignals { count in
                if count > 1 { _exit(130) }
                forwarder.stop()
            }
            let reporting = ForwardReporting(
                forwarder, source: source, isJSON: json, console: console)
            defer {
                reporting.stop()
                withExtendedLifetime(signals) {}
            }
            try forwarder.run()
        } catch {
            if case .refused = error { throw Failure("\(error)", exitStatus: ExitStatus.refused) }
            throw Failure("\(error)")
        }
    }

    private func destination() throws -> String {
        if let url { return url }
        if let urlFile { return try StreamURL.read(file: urlFile) }
        if let text = getenv("TRIBUTARY_FORWARD_URL").map({ String(cString: $0) }), !text.isEmpty {
            return text
        }
        throw UsageError("no destination: give a URL, --url-file, or TRIBUTARY_FORWARD_URL")
    }
}
