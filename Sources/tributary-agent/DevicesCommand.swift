import ArgumentParser
import Terminal

/// `tributary-agent devices`: what can be captured from, and the names to use it by.
struct DevicesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices", _superCommandName: "tributary-agent",
        abstract: "Lists cameras and microphones.",
        discussion: """
            Each with the name that stays (for --video and --audio), what it can do, and who has it open, as far as this user \
            may see. Devices are opened for a moment, and left as they are.
            """)

    @Flag(help: "Print JSON.")
    var json = false

    func run() throws {
        let report = DeviceReport.ofThisMachine()
        if json {
            try JSONOutput.print(report)
        } else {
            report.lines.forEach { print($0) }
        }
    }
}
