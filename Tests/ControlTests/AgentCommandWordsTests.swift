import ArgumentParser
import Control
import Foundation
import Terminal
import Testing
import Wire

/// A route without an agent.
private struct NoRoute: AgentRoute {
    static let optionNames: Set<String> = []
    var sourceName: String { "stage" }

    func ask(_ request: CommandRequest) throws -> (reply: CommandReply, payload: [UInt8]) {
        throw Failure("there is no agent")
    }
}

@Suite struct AgentCommandWordsTests {
    private let names = AgentCommandName.allCases.map(\.rawValue)

    @Test func `every command has its name of the list`() {
        let commands = AgentCommands.all(by: NoRoute.self).map { command in
            command.configuration.commandName
        }
        #expect(commands == names)
    }

    @Test func `the page and its interface name the same commands`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let page = try String(
            contentsOf: root.appending(path: "Sources/CViewerPage/page/live/live-commands.js"),
            encoding: .utf8)
        let called = page.matches(of: /command: '([a-z]+)'/).map { String($0.1) }
        #expect(!called.isEmpty && Set(called).isSubset(of: names), "\(called)")
        let interface = try String(
            contentsOf: root.appending(path: "proto/openapi.yaml"), encoding: .utf8)
        let list = try #require(interface.firstMatch(of: /command: \{ enum: \[([a-z, ]+)\]/))
        #expect(list.1.split(separator: ", ").map { String($0) }.sorted() == names.sorted())
    }

    private func arranged(_ words: String) -> String {
        AgentCommands.arranged(
            words.split(separator: " ").map(String.init), valueOptions: ["archive", "source"]
        ).joined(separator: " ")
    }

    @Test(arguments: [
        ("stage status", "status stage"),
        ("status stage", "status stage"),
        ("stage status --archive x", "status stage --archive x"),
        ("stage --archive x status --json", "status stage --archive x --json"),
        ("--archive x stage status", "status --archive x stage"),
        ("--archive=x stage set --video test", "set --archive=x stage --video test"),
        ("stage --archive status stop", "stop stage --archive status"),
        ("--archive x status stage", "status --archive x stage"),
        // A source that is called like a command.
        ("status stop", "stop status"),
        // On the box the source is an option.
        ("--source stage snapshot a.jpg", "snapshot --source stage a.jpg"),
        ("status --json", "status --json"),
        // Other words are unchanged, so that the parser reports the error.
        ("stage record", "stage record"),
        ("--help", "--help"),
        ("help set", "help set"),
        ("", ""),
        ("stage --archive", "stage --archive"),
    ])
    func `options may stand before the command`(words: String, expected: String) {
        #expect(arranged(words) == expected)
    }

    @Test(arguments: [
        ("stage", true, "no command for 'stage': use status, set, start,"),
        ("--archive x stage", true, "no command for 'stage': use status,"),
        ("stage stauts", true, "there is no command 'stauts': did you mean 'status'?"),
        ("dance", false, "there is no command 'dance': use status, set,"),
        ("stage status", false, nil), ("stage status", true, nil), ("status", true, nil),
        ("", true, nil), ("--json", true, nil), ("stage --help", true, nil),
        ("help set", true, nil),
    ])
    func `words that are not a command are refused with the commands`(
        words: String, isSourceNamed: Bool, expected: String?
    ) {
        let flaw = AgentCommands.flaw(
            in: words.split(separator: " ").map(String.init), valueOptions: ["archive", "source"],
            isSourceNamed: isSourceNamed)
        if let expected {
            #expect(flaw?.hasPrefix(expected) == true, "\(flaw ?? "nothing")")
        } else {
            #expect(flaw == nil)
        }
    }
}
