import ArgumentParser
import JSON
import Terminal

/// `tributary-agent devices`: lists devices with the names to use.
struct DevicesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices", _superCommandName: "tributary-agent",
        abstract: "Lists cameras and microphones.",
        discussion: """
            Shows the stable name of each device (for --video and --audio), its capabilities, and the processes that have it \
            open, as far as this user can see them. Devices are opened briefly; their settings are not changed.
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
