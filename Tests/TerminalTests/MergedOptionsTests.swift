import ArgumentParser
import Foundation
import Testing

@testable import Terminal

@Suite struct MergedOptionsTests {
    private struct Tool: RepeatingCommand {
        static let configuration = CommandConfiguration(subcommands: [Part.self])
        static let repeatableOptions: Set = ["host-name"]
        @Option var hostName: [String] = []
        @Option var startAt = "x"
        @Option var videoBitrate = "x"
        @Flag var once = false
        @Flag(name: .shortAndLong) var verbose = false
        @OptionGroup var configuration: ConfigurationOptions
    }

    private struct Part: ParsableCommand {
        static let configuration = CommandConfiguration(commandName: "part")
        @Option var archive = "y"
    }

    /// A command with a list of groups.
    private struct Crowd: GroupingCommand {
        static let groupsName = "parts"
        static let sharedOptions: Set = ["video-bitrate", "config", "check-config"]
        @Option var startAt = "x"
        @Option var videoBitrate = "x"
        @Flag var once = false
        @OptionGroup var configuration: ConfigurationOptions
    }

    private func crowd(
        file: String, _ arguments: [String] = [], _ environment: [String: String] = [:]
    ) throws -> MergedOptions {
        let path = NSTemporaryDirectory() + "options-\(UUID().uuidString).yaml"
        try Data(file.utf8).write(to: URL(filePath: path))
        defer { unlink(path) }
        do {
            let options = try MergedOptions(
                arguments + ["--config", path], environment: environment, command: Crowd.self)
            #expect(options.groups.isEmpty || options.arguments == options.groups[0].arguments)
            return options
        } catch {
            throw Complaint(text: "\(error)".replacing(path, with: "FILE"))
        }
    }

    @Test func `each group of a list has the options of all, and its own`() throws {
        let own = try crowd(
            file: """
                video-bitrate: 2M
                start-at: all
                parts:
                  - start-at: one
                    once: yes
                  - start-at: two
                  - once: no
                """, [], ["TRIBUTARY_START_AT": "environment"])
        #expect(
            own.groups.map { Array($0.arguments.dropFirst(2)) } == [
                ["--once", "--start-at=one", "--video-bitrate=2M"],
                ["--start-at=two", "--video-bitrate=2M"],
                ["--start-at=environment", "--video-bitrate=2M"],
            ])
        #expect(try crowd(file: "start-at: all").groups.isEmpty)
    }

    @Test(
        arguments: [
            ("parts:", "'parts' has no value (FILE, line 1): give it one, or leave it out"),
            ("parts: []", "'parts' has no value (FILE, line 1): give it one, or leave it out"),
            (
                "parts:\n  - video-bitrate: 1M",
                "FILE, line 2: 'video-bitrate' is for all of them: move it out of the list"
            ),
            (
                "parts:\n  - start-at: a\n    start-at: b",
                "FILE, line 3: 'start-at' is given twice, first in line 2; remove one of them"
            ),
            (
                "parts:\n  - once: yes\n    strat-at: b",
                "FILE, line 3: there is no option 'strat-at'; did you mean 'start-at'?"
            ),
            (
                "parts:\n  - once: [{a: b}]",
                "FILE, line 2: a value of 'once' is not a single one; write one line 'name: value' for each option"
            ),
        ])
    func `an invalid list of groups is refused with its line`(
        file: String, complaint: String
    ) throws {
        let error = #expect(throws: Complaint.self) { try crowd(file: file) }
        #expect(error?.text == complaint)
    }

    @Test func `an option of a group is refused on the command line`() throws {
        let error = #expect(throws: Complaint.self) {
            try crowd(file: "parts:\n  - start-at: a", ["--start-at", "b"])
        }
        #expect(
            error?.text
                == "FILE, line 2: 'start-at' is on the command line too: leave it out there")
    }

    private func merged(
        _ arguments: [String] = [], _ environment: [String: String] = [:]
    ) throws -> MergedOptions {
        try MergedOptions(arguments, environment: environment, command: Tool.self)
    }

    /// The options of a file with that text.
    private func merged(
        file: String, _ arguments: [String] = [], _ environment: [String: String] = [:]
    ) throws -> MergedOptions {
        let path = NSTemporaryDirectory() + "options-\(UUID().uuidString).yaml"
        try Data(file.utf8).write(to: URL(filePath: path))
        defer { unlink(path) }
        do {
            return try merged(arguments + ["--config", path], environment)
        } catch let error as ConfigurationError {
            throw Complaint(text: "\(error)".replacing(path, with: "FILE"))
        }
    }

    private struct Complaint: Error, Equatable {
        var text: String
    }

    private func complaint(of file: String) -> String {
        do {
            return "none: \(try merged(file: file).arguments)"
        } catch let error as Complaint {
            return error.text
        } catch {
            return "another error: \(error)"
        }
    }

    // MARK: Environment

    @Test func `an option and its variable have one name`() throws {
        #expect(try merged([], ["TRIBUTARY_START_AT": "z"]).arguments == ["--start-at=z"])
        #expect(
            try merged(["part"], ["TRIBUTARY_ARCHIVE": "z"]).arguments == ["part", "--archive=z"])
    }

    @Test(arguments: [["--start-at", "a"], ["--start-at=a"]])
    func `the command line wins`(arguments: [String]) throws {
        #expect(try merged(arguments, ["TRIBUTARY_START_AT": "z"]).arguments == arguments)
        #expect(
            try merged(file: "start-at: z", arguments).arguments.dropLast(2) == arguments[...])
    }

    @Test func `a flag's variable is yes or no`() throws {
        #expect(try merged([], ["TRIBUTARY_ONCE": "1"]).arguments == ["--once"])
        #expect(try merged([], ["TRIBUTARY_ONCE": "0"]).arguments == [])
        #expect(try merged([], ["TRIBUTARY_VERBOSE": "true"]).arguments == ["--verbose"])
        #expect(throws: ConfigurationError.self) { try merged([], ["TRIBUTARY_ONCE": "2"]) }
    }

    @Test func `variables of other programs are left alone`() throws {
        let other = ["TRIBUTARY_ARCHIVE": "z", "TRIBUTARY_HELP": "1"]
        #expect(try merged([], other).arguments == [])
    }

    // MARK: Files

    @Test func `the environment takes precedence over a file`() throws {
        let file = """
            # What this box does.
            start-at: "first # sample"   # quoted
            once: yes
            verbose: no
            video-bitrate: 4M
            """
        #expect(
            try merged(file: file, [], ["TRIBUTARY_VIDEO_BITRATE": "2M"]).arguments.dropFirst(2)
                == ["--once", "--start-at=first # sample", "--video-bitrate=2M"])
    }

    @Test func `an option that can be repeated is a list in the environment, by commas`() throws {
        func arguments(_ value: String) throws -> [String] {
            try merged([], ["TRIBUTARY_HOST_NAME": value]).arguments
        }
        #expect(try arguments("a.example") == ["--host-name=a.example"])
        #expect(
            try arguments("a.example, b.example")
                == ["--host-name=a.example", "--host-name=b.example"])
        #expect(throws: ConfigurationError.self) { try arguments("a.example,,b.example") }
    }

    @Test(arguments: [
        "host-name: [a.example, b.example]", "host-name:\n  - a.example\n  - ~\n  - b.example\n",
    ])
    func `an option that can be repeated may be a list`(file: String) throws {
        #expect(
            try merged(file: file).arguments.dropFirst(2)
                == ["--host-name=a.example", "--host-name=b.example"])
        let single = try merged(file: "host-name: a.example").arguments.dropFirst(2)
        #expect(single == ["--host-name=a.example"])
        let empty = try merged(file: "host-name: []").arguments.dropFirst(2)
        #expect(empty.isEmpty)
        // The command line and the environment take precedence.
        let given = try merged(file: file, ["--host-name", "c"]).arguments.dropLast(2)
        #expect(given == ["--host-name", "c"])
        let variable = try merged(file: file, [], ["TRIBUTARY_HOST_NAME": "c"])
        #expect(variable.arguments.dropFirst(2) == ["--host-name=c"])
    }

    @Test(arguments: ["", "# nothing\n", "---\n"])
    func `a file without options gives none`(file: String) throws {
        #expect(try merged(file: file).arguments.count == 2)
    }

    @Test(arguments: [
        "start-at:\n", "start-at: ~\n", "start-at: null", "start-at: ''", "start-at: '  '",
        "start-at: # later\n", "host-name: [~]", "once:",
    ])
    func `an option without a value is refused, and its line is named`(file: String) throws {
        let name = file.prefix { $0 != ":" }
        #expect(
            complaint(of: file)
                == "'\(name)' has no value (FILE, line 1): give it one, or leave it out")
    }

    @Test(arguments: ["", " ", "\t"])
    func `a variable without a value is refused`(value: String) throws {
        #expect(throws: ConfigurationError.empty("start-at", where: "TRIBUTARY_START_AT")) {
            try merged([], ["TRIBUTARY_START_AT": value])
        }
        #expect(throws: ConfigurationError.empty("once", where: "TRIBUTARY_ONCE")) {
            try merged([], ["TRIBUTARY_ONCE": value])
        }
        // An option on the command line replaces the variable.
        let given = ["--start-at", "z"]
        #expect(try merged(given, ["TRIBUTARY_START_AT": value]).arguments == given)
    }

    @Test(arguments: [
        ["--start-at="], ["--start-at", ""], ["--once", "--start-at", " ", "--verbose"],
    ])
    func `an option of the command line without a value is refused`(arguments: [String]) throws {
        #expect(throws: ConfigurationError.empty("--start-at", where: nil)) {
            try merged(arguments)
        }
    }

    @Test func `an argument that is not an option's value may be empty`() throws {
        #expect(try merged(["--once", ""]).arguments == ["--once", ""])
        #expect(try merged(["--", "--start-at="]).arguments == ["--", "--start-at="])
    }

    @Test(arguments: [
        (
            "vidoe-bitrate: 4M",
            "FILE, line 1: there is no option 'vidoe-bitrate'; did you mean 'video-bitrate'?"
        ),
        (
            "\nvideo_bitrate: 4M",
            "FILE, line 2: there is no option 'video_bitrate'; did you mean 'video-bitrate'?"
        ),
        ("onec: yes", "FILE, line 1: there is no option 'onec'; did you mean 'once'?"),
        ("colour: red", "FILE, line 1: there is no option 'colour'; '--help' lists all options"),
        (
            "config: x",
            "FILE, line 1: 'config' is only for the command line: remove it from the file"
        ),
        ("once: 3", "'once' must be yes or no, not '3' (FILE, line 1)"),
        (
            "once: yes\nonce: no",
            "FILE, line 2: 'once' is given twice, first in line 1; remove one of them"
        ),
        (
            "start-at: [a, b]",
            "FILE, line 1: 'start-at' has more than one value; write one line 'name: value' for each option"
        ),
        (
            "start-at:\n  - a",
            "FILE, line 1: 'start-at' has more than one value; write one line 'name: value' for each option"
        ),
        (
            "host-name: [a, [b]]",
            "FILE, line 1: a value of 'host-name' is not a single one; write one line 'name: value' for each option"
        ),
        (
            "start-at: {a: b}",
            "FILE, line 1: 'start-at' has more than one value; write one line 'name: value' for each option"
        ),
        (
            "- once",
            "FILE, line 1: this is not a list of options; write one line 'name: value' for each option"
        ),
        (
            "once",
            "FILE, line 1: this is not a list of options; write one line 'name: value' for each option"
        ),
        (
            "once: yes\n---\nonce: no",
            "FILE, line 2: a second document begins; write one line 'name: value' for each option"
        ),
        ("start-at: 'a", "FILE, line 1, is not valid YAML: found unexpected end of stream"),
        ("\u{0}", "FILE, line 1, is not valid YAML: control characters are not allowed"),
    ])
    func `an invalid file is reported in one line`(file: String, complaint: String) {
        #expect(self.complaint(of: file) == complaint)
    }

    @Test func `an absent or oversized file is reported`() {
        #expect(throws: ConfigurationError.unreadable(path: "/nowhere", errno: ENOENT)) {
            try merged(["--config", "/nowhere"])
        }
        #expect(throws: ConfigurationError.unreadable(path: "/", errno: EISDIR)) {
            try merged(["--config=/"])
        }
        #expect(complaint(of: String(repeating: "#", count: 300_000)).contains("at most 256 KiB"))
    }

    @Test func `an error about a value names the value's origin`() throws {
        let options = try merged(
            file: "start-at: z", [], ["TRIBUTARY_VIDEO_BITRATE": "much"])
        #expect(options.origins(of: "--video-bitrate much is no rate") == "TRIBUTARY_VIDEO_BITRATE")
        #expect(options.origins(of: "--start-at z")?.hasSuffix(", line 1") == true)
        #expect(options.origins(of: "--once is wrong") == nil)
    }

    @Test func `options are inserted before the terminator`() throws {
        #expect(
            try merged(["--", "x"], ["TRIBUTARY_START_AT": "z"]).arguments
                == ["--start-at=z", "--", "x"])
    }
}
