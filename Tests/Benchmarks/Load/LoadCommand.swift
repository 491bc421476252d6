import ArgumentParser
import Glibc
import Messaging
import Operations
import Terminal
import Trust

/// Plays many cameras concurrently into a collector, to measure it.
@main
struct LoadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench-load",
        abstract: "Sends one clip as many sources to a collector, over the protocol of the agent.",
        discussion: """
            Ends when the collector has everything on disk. All sources share the clip's memory, and one thread. Prints \
            the payload's bytes as JSON, and how long samples took from their capture until the collector said that they \
            are durable, in milliseconds. For each line that it reads from the standard input, it prints the same since \
            the line before.
            """,
        version: Version.number)

    @Option(help: "Where the collector listens.")
    var collector = "tcp://127.0.0.1:5550"

    @Option(help: "A file with H.264 and AAC.")
    var media: String

    @Option(help: "How many sources.")
    var sources = 16

    @Option(
        help: "Appended to the sources' names: '.preview' sends previews of another load's sources."
    )
    var suffix = ""

    @Option(help: "Seconds of media per source; a shorter file is played in rounds.")
    var seconds = 60

    @Option(help: "The collector's public key: with keys.")
    var collectorKey: String?

    @Option(help: "Directory of the key that all sources share.")
    var keys: String?

    @Option(
        help:
            "The collector's own directory of keys: instead of sharing one, each source has a key that is authorised there."
    )
    var authorizeIn: String?

    @Flag(help: "As fast as the collector takes it, as agents do after an outage.")
    var fast = false

    @Flag(help: "Send each 100 ms by itself, as agents of --batch 100ms do.")
    var each = false

    @Flag(
        help:
            "The collector cannot finish its files, which are /dev/null: that it goes away then is no error."
    )
    var unfinishable = false

    @Flag(help: "Come back to a collector that went away, as agents do.")
    var returning = false

    func validate() throws {
        guard (1...4_096).contains(sources) else {
            throw ValidationError("--sources must be from 1 to 4096")
        }
        guard (1...86_400).contains(seconds) else {
            throw ValidationError("--seconds must be from 1 to 86400")
        }
        if authorizeIn != nil {
            guard keys == nil else { throw ValidationError("give --keys or --authorize-in") }
            guard collectorKey != nil else {
                throw ValidationError("--authorize-in needs --collector-key")
            }
        }
    }

    func run() throws {
        do {
            print(try play())
        } catch {
            throw Failure("\(error)")
        }
    }

    /// Sends everything; returns the output.
    private func play() throws -> String {
        let clip = try Clip(path: media)
        DescriptorLimit.raise(to: LoadSource.descriptors * sources + 64)
        let ready = try ReadySet()
        let surroundings = LoadSource.Surroundings(
            clip: clip, suffix: suffix, endpoint: collector, seconds: seconds, gathers: !each,
            unfinishable: unfinishable, returns: returning,
            context: try Context(maximumSockets: Int32(LoadSource.sockets * sources + 8)),
            ready: ready, wakeUp: try WakeUp())
        let securities = try chooseSecurities()
        let start = now()
        let boxes = (0..<sources).map { number in
            // Sources are staggered over a batch. In fast mode, samples were captured earlier.
            let phase = Clip.batchNanoseconds * Int64(number) / Int64(sources)
            let origin = fast ? start - Int64(seconds) * 1_000_000_000 : start + phase
            return LoadSource(
                number: number, origin: origin, security: securities[number], in: surroundings)
        }
        var report = LoadReport(since: start)
        try ready.add(STDIN_FILENO, number: sources)
        var isReady = [Bool](repeating: true, count: sources)
        while true {
            for (number, box) in boxes.enumerated() where !box.isFinished {
                guard isReady[number] || box.nextTurn <= now() else { continue }
                isReady[number] = false
                try box.turn()
            }
            if boxes.allSatisfy(\.isFinished) { break }
            for number in try ready.wait(milliseconds: millisecondsToWait(for: boxes)) {
                if number < sources {
                    isReady[Int(number)] = true
                } else if Self.takeLine() {
                    print(report.take(boxes))
                    fflush(nil)
                } else {
                    ready.remove(STDIN_FILENO)
                }
            }
        }
        return report.finish(boxes)
    }

    /// Reads a line of standard input; false at its end.
    private static func takeLine() -> Bool {
        withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) {
            read(STDIN_FILENO, $0.baseAddress, $0.count) > 0
        }
    }

    private func chooseSecurities() throws -> [SocketSecurity] {
        if let authorizeIn, let collectorKey {
            return try SourceKeys.make(
                sources, in: authorizeIn, of: try PublicKey(text: collectorKey))
        }
        let chosen = try LinkSecurity.ofAgent(
            LinkSecurity.Request(
                endpoint: collector, isLocal: Endpoint.isLocal(collector), isInsecure: false,
                directory: keys, collectorKey: collectorKey))
        let security = chosen.map { SocketSecurity.client($0.key, server: $0.collectorKey) }
        return [SocketSecurity](repeating: security ?? .plain, count: sources)
    }

    /// Until the next due time, rounded up: polling would use the collector's processor.
    private func millisecondsToWait(for boxes: [LoadSource]) -> Int {
        let due = boxes.lazy.filter { !$0.isFinished }.map(\.nextTurn).min() ?? 0
        return Int((min(20_000_000, max(0, due - now())) + 999_999) / 1_000_000)
    }

    static func main() {
        Program.main(LoadCommand.self)
    }
}
