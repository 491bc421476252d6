import ArgumentParser
import Logging
import Testing

@testable import Terminal

@Suite struct QuantityTests {
    @Test(
        arguments: [
            ("500ms", 500_000_000), ("10s", 10_000_000_000), ("1.5s", 1_500_000_000),
            ("10m", 600_000_000_000), ("2h", 7_200_000_000_000), ("0", 0), ("100us", 100_000),
            ("10", 10_000_000_000), ("13.3", 13_300_000_000), ("01:02:03", 3_723_000_000_000),
            ("1:23.5", 83_500_000_000), ("2d", 172_800_000_000_000),
        ] as [(String, Int64)])
    func `durations are parsed in their usual forms`(text: String, nanoseconds: Int64) {
        #expect(TimeSpan(argument: text)?.nanoseconds == nanoseconds)
    }

    @Test(arguments: [
        "", "s", "-1s", "1 s", "1e3s", "99999999999999d", "1.2.3s", "1.s", "-10", "1:60", "1:2:3:4",
        "1:23s", "999999999:00:00", "99999999999",
    ])
    func `an invalid duration is refused`(text: String) {
        #expect(TimeSpan(argument: text) == nil)
    }

    @Test(arguments: [
        ("4M", 4_000_000), ("96k", 96_000), ("2.5M", 2_500_000), ("800", 800),
        ("1G", 1_000_000_000),
    ])
    func `bitrates are parsed in their usual forms`(text: String, bits: Int64) {
        #expect(Bitrate(argument: text)?.bitsPerSecond == bits)
    }

    @Test func `quantities are printed briefly`() {
        #expect("\(TimeSpan(nanoseconds: 600_000_000_000))" == "10m")
        #expect("\(TimeSpan(nanoseconds: 500_000_000))" == "500ms")
        #expect("\(Bitrate(bitsPerSecond: 4_100_000))" == "4.1 Mbit/s")
        #expect("\(ByteCount(1_500_000))" == "1.5 MB")
        #expect(ByteCount(argument: "2GB")?.bytes == 2_000_000_000)
        #expect(ByteCount(argument: "16MiB")?.bytes == 16 << 20)
        #expect(ByteCount(argument: "2XB") == nil)
    }
}

private struct HintedOptions: ParsableArguments {
    @Option var required: TimeSpan
    @Option var usual = Bitrate(bitsPerSecond: 1_000)
    @Option var point: TimelinePoint?
    @Option var many: [ByteCount] = []
}

@Suite struct HintTests {
    @Test(arguments: [
        (["--required", "2q"], "write a time such as 500ms, 10s, 5m, 1h or 01:30:00"),
        (["--required", "2s", "--usual", "4Q"], "write bits per second, such as 96k or 2.5M"),
        (["--required", "2s", "--point", "5q"], "write a time such as 1:23.5, 90s or 2026-"),
        (["--required", "2s", "--many", "1GB", "--many", "x"], "write a number of bytes such as"),
    ])
    func `an invalid value is answered with examples`(words: [String], hint: String) {
        do {
            _ = try HintedOptions.parse(words)
            Issue.record("it was read")
        } catch {
            let message = HintedOptions.message(for: error)
            #expect(message.hasPrefix("The value '\(words[words.count - 1])' is invalid for '--"))
            #expect(message.contains(hint), "\(message)")
        }
    }

    @Test func `valid values are parsed`() throws {
        let options = try HintedOptions.parse([
            "--required", "2s", "--point", "1:00", "--many", "1kB", "--many", "2kB",
        ])
        #expect(options.required.nanoseconds == 2_000_000_000)
        #expect(options.usual.bitsPerSecond == 1_000)
        #expect(options.point == .session(nanoseconds: 60_000_000_000))
        #expect(options.many.map(\.bytes) == [1_000, 2_000])
    }
}

@Suite struct EndpointTests {
    @Test(arguments: [
        ("tcp://127.0.0.1:5550", true), ("tcp://localhost:1", true), ("tcp://[::1]:5550", true),
        ("ipc:///run/x", true), ("tcp://0.0.0.0:5550", false), ("tcp://*:5550", false),
        ("tcp://127.evil.example:5550", false), ("tcp://10.0.0.1:5550", false),
        ("tcp://127.0.0.1.example:5550", false),
    ])
    func `only endpoints of this machine are local`(endpoint: String, isLocal: Bool) {
        #expect(Endpoint.isLocal(endpoint) == isLocal)
    }

    @Test(arguments: [
        ("tcp://127.0.0.1:5550", true), ("tcp://[::]:5550", true), ("ipc://x", true),
        ("tcp://127.0.0.1", false), ("tcp://:5550", false), ("http://x:1", false), ("", false),
        ("tcp://x:0", false), ("tcp://x:65536", false), ("ipc://", false), ("tcp://x:*", true),
    ])
    func `an invalid endpoint is reported`(endpoint: String, isFine: Bool) {
        #expect((Endpoint.flaw(endpoint) == nil) == isFine)
    }

    @Test(arguments: ["99999", "0", "-1", "x", ""])
    func `an invalid port is named`(port: String) {
        #expect(
            Endpoint.flaw("tcp://127.0.0.1:\(port)")
                == "'tcp://127.0.0.1:\(port)': the port must be 1–65535, not '\(port)'")
    }
}

@Suite struct LineTests {
    @Test func `no text of a peer breaks a line`() {
        #expect(oneLine("a\nb\u{1B}[2J") == "a\\u{a}b\\u{1b}[2J")
        #expect(oneLine("käse 漢字") == "käse 漢字")
    }

    @Test func `tables align`() {
        var table = Table(["A", "N"], rightAligned: [1])
        table.add(["long", "1"])
        table.add(["x", "10"])
        #expect(table.lines() == ["A      N", "long   1", "x     10"])
    }
}

private struct Root: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "root", subcommands: [Keys.self, List.self])
}

private struct Keys: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "keys", subcommands: [Enrol.self])
}

private struct Enrol: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "enrol")
    @Argument var name: String
}

private struct List: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list")
    @Option var rate: Double = 1
}

@Suite struct MeaningTests {
    @Test(
        arguments: [
            (["lst"], "there is no command 'lst': did you mean 'list'?"),
            (["keys", "enrl", "x"], "there is no command 'enrl': did you mean 'enrol'?"),
            (["dance"], "there is no command 'dance': use keys or list"),
            (["list"], nil), (["keys", "enrol", "door"], nil), (["--help"], nil), ([], nil),
        ] as [([String], String?)])
    func `an unknown command is answered with the nearest one`(
        words: [String], answer: String?
    ) {
        #expect(Program.unknownCommand(in: Root.self, words[...]) == answer)
    }

    @Test(
        arguments: [
            (["--fps", "-5"], "--fps must not be negative: '-5'"),
            (["--fps", "-.5"], "--fps must not be negative: '-.5'"),
            (["--fps", "--size"], nil), (["--fps"], nil),
        ] as [([String], String?)])
    func `a negative value is not called a missing one`(words: [String], answer: String?) {
        let message = "Missing value for '--fps <fps>'"
        #expect(Program.negativeValue(message, words) == answer)
    }

    @Test func `the nearest value of a list is named`() {
        let list = "Please provide one of 'low', 'medium' or 'high'."
        #expect(
            Program.meantValue("The value 'hgih' is invalid for '--preset <preset>'. \(list)")
                == "high")
        #expect(
            Program.meantValue("The value 'x' is invalid for '--preset <preset>'. \(list)") == nil)
        #expect(Program.meantValue("The value 'hgih' is invalid for '--preset <preset>'") == nil)
    }

    @Test(
        arguments: [
            ("TRIBUTARY_LISTN", "TRIBUTARY_LISTEN"), ("TRIBUTARY_START_ATT", "TRIBUTARY_START_AT"),
            ("TRIBUTARY_LISTEN", nil), ("TRIBUTARY_SPOOL", nil), ("TRIBUTARY_SOURCES", nil),
            ("TRIBUTARY_FSP", nil), ("LISTN", nil),
        ] as [(String, String?)])
    func `a misspelled variable is reported, another program's is not`(
        variable: String, meant: String?
    ) {
        let options = ["listen", "start-at", "source", "size", "fps"]
        #expect(OptionEnvironment.meant(by: variable, among: options) == meant)
    }
}

@Test func `the kernel's arguments are Swift's`() {
    #expect(CommandArguments.ofKernel == CommandLine.arguments)
    #expect(CommandArguments.all == Array(CommandLine.arguments.dropFirst()))
}
