import ArgumentParser
import Messaging
import Operations
import Terminal
import Trust

/// Plays many cameras at once into a collector, to measure it.
@main
struct LoadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench-load",
        abstract: "Sends one clip as many sources to a collector, over the protocol of the agent.",
        discussion: """
            Ends when the collector has everything on disk. All sources share the clip's memory, and one thread. Prints \
            the payload's bytes as JSON.
            """,
        version: Version.number)

    /// Two sockets, each with a connection, a mailbox, and what is left of one that has just been closed.
    private static let descriptorsPerSource = 8

    @Option(help: "Where the collector listens.")
    var collector = "tcp://127.0.0.1:5550"

    @Option(help: "A file with H.264 and AAC.")
    var media: String

    @Option(help: "How many sources.")
    var sources = 16

    @Option(help: "Seconds of media per source; a shorter file is played in rounds.")
    var seconds = 60

    @Option(help: "The collector's public key: with keys.")
    var collectorKey: String?

    @Option(help: "Directory of the key that all sources share.")
    var keys: String?

    @Flag(help: "As fast as the collector takes it, as agents do after an outage.")
    var fast = false

    @Flag(help: "Send each 100 ms by itself, as agents of --batch 100ms do.")
    var each = false

    @Flag(
        help:
            "The collector cannot finish its files, which are /dev/null: that it goes away then is no error."
    )
    var unfinishable = false

    func validate() throws {
        guard (1...4_096).contains(sources) else {
            throw ValidationError("--sources must be from 1 to 4096")
        }
        guard (1...86_400).contains(seconds) else {
            throw ValidationError("--seconds must be from 1 to 86400")
        }
    }

    func run() throws {
        do {
            let loaded = try play()
            print(#"{"bytes": \#(loaded)}"#)
        } catch {
            throw Failure("\(error)")
        }
    }

    /// Sends everything; returns the payload's bytes.
    private func play() throws -> Int {
        let clip = try Clip(path: media)
        let context = try Context(maximumSockets: Int32(LoadSource.sockets * sources + 8))
        DescriptorLimit.raise(to: Self.descriptorsPerSource * sources + 64)
        let security = try chooseSecurity()
        let start = now()
        var poller = Poller()
        var boxes: [LoadSource] = []
        for number in 0..<sources {
            // Boxes do not speak all at the same moment. What is sent fast has been captured before.
            let phase = Clip.batchNanoseconds * Int64(number) / Int64(sources)
            let origin = fast ? start - Int64(seconds) * 1_000_000_000 : start + phase
            let box = try LoadSource(
                number: number, clip: clip, endpoint: collector, security: security, origin: origin,
                seconds: seconds, gathers: !each, unfinishable: unfinishable, context: context)
            box.watch(with: &poller)
            boxes.append(box)
        }
        for box in boxes { try box.start() }
        while true {
            for box in boxes where !box.isFinished { try box.turn() }
            if boxes.allSatisfy(\.isFinished) { break }
            _ = try poller.wait(milliseconds: millisecondsToWait(for: boxes))
        }
        return boxes.reduce(0) { $0 + $1.sentBytes }
    }

    private func chooseSecurity() throws -> SocketSecurity {
        let chosen = try LinkSecurity.ofAgent(
            LinkSecurity.Wish(
                endpoint: collector, isLocal: Endpoint.isLocal(collector), isInsecure: false,
                directory: keys, collectorKey: collectorKey))
        return chosen.map { .client($0.key, server: $0.collectorKey) } ?? .plain
    }

    /// Until the next batch is due; what waits for credit waits for a message.
    private func millisecondsToWait(for boxes: [LoadSource]) -> Int {
        let now = now()
        let due = boxes.compactMap(\.dueNanoseconds).filter { $0 > now }.min()
        return Int(min(20, max(0, ((due ?? .max / 2) - now) / 1_000_000)))
    }

    static func main() {
        Program.main(LoadCommand.self)
    }
}
