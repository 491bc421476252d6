import Foundation
import SyncCheck

/// An agent's clock: offset by a time namespace, skewed by `faketime`.
struct OddClock: Sendable {
    let name: String
    /// Seconds that the time namespace adds to `CLOCK_MONOTONIC`.
    let offsetSeconds: Int64
    let skewPPM: Int64

    /// The clocks that the requirements name.
    static let all = [
        OddClock(name: "behind", offsetSeconds: -500, skewPPM: -200),
        OddClock(name: "same", offsetSeconds: 0, skewPPM: 0),
        OddClock(name: "ahead", offsetSeconds: 100_000, skewPPM: 200),
    ]

    /// Whether this machine allows such clocks and the test can read them.
    static let areThere: Bool = {
        let words = [
            "-T", "--monotonic", "-1", "faketime", "-f", "+0 x1.0002", "python3", "-c", "",
        ]
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["unshare"] + words
        process.standardError = FileHandle.nullDevice
        do {
            try process.run()
        } catch {
            return false
        }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()

    /// Starts an agent with this clock, connected to `collector`.
    func startAgent(to collector: String, for duration: String, on stage: Stage) throws -> Running {
        // The clock is read in the agent's own namespace, right before it starts.
        let script = """
            python3 -c "$2" > "$1" && shift 2 && exec timeout -s KILL 150 "$@"
            """
        var words = ["unshare", "-T", "--monotonic", "\(offsetSeconds)"]
        if skewPPM != 0 {
            let rate = String(1_000_000 + skewPPM)
            let factor = skewPPM > 0 ? "1.\(rate.dropFirst())" : "0.\(rate)"
            words += ["faketime", "-f", "+0 x\(factor)"]
        }
        words += ["sh", "-c", script, "sh", readingFile(on: stage).path, Self.reader]
        words += [
            Executable.agent.url.path, "--collector", collector, "--source", name, "--video",
            "test",
            "--audio", "test", "--size", "320x180", "--keyframe-interval", "1s", "--late", "keep",
            "--duration",
            duration,
        ]
        return try stage.start(at: URL(filePath: "/usr/bin/env"), words)
    }

    private func readingFile(on stage: Stage) -> URL {
        stage.directory.appending(path: "\(name).clock")
    }

    /// Reads the kernel's clock directly and the clock as programs see it, as close together as possible.
    private static let reader = """
        import ctypes, platform, time
        class Time(ctypes.Structure): _fields_ = [("s", ctypes.c_long), ("n", ctypes.c_long)]
        libc = ctypes.CDLL(None)
        number = {"x86_64": 228, "aarch64": 113}[platform.machine()]
        def kernel():
            now = Time()
            libc.syscall(number, 1, ctypes.byref(now))
            return now.s * 10**9 + now.n
        best = None
        for _ in range(300):
            a = kernel(); seen = time.clock_gettime_ns(time.CLOCK_MONOTONIC); b = kernel()
            if best is None or b - a < best[0]: best = (b - a, (a + b) // 2, seen)
        print(best[1], best[2])
        """

    /// The relation of the agent's clock to this machine's, read at the agent's start.
    func truth(on stage: Stage) throws -> ReferenceClock {
        let text = try String(contentsOf: readingFile(on: stage), encoding: .utf8)
        let numbers = text.split(whereSeparator: \.isWhitespace).compactMap { Int64($0) }
        guard numbers.count == 2 else {
            throw StageFailure(description: "\(name)'s clock was not read: '\(text)'")
        }
        let machine = numbers[0] - offsetSeconds * 1_000_000_000
        let rate = ReferenceClock(offsetNanoseconds: 0, skewPPB: skewPPM * 1_000)
        return ReferenceClock(
            offsetNanoseconds: machine - rate.nanoseconds(at: numbers[1]),
            skewPPB: skewPPM * 1_000)
    }

    /// The same as an option of `tributary verify`.
    func option(on stage: Stage) throws -> [String] {
        let truth = try truth(on: stage)
        return ["--clock", "\(name)=\(truth.offsetNanoseconds)ns@\(skewPPM)"]
    }
}
