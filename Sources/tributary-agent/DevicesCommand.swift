import ArgumentParser
import Devices
import JSON
import Media
import ONVIF
import Terminal

/// `tributary-agent devices`: lists devices with the names to use.
struct DevicesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "devices", _superCommandName: "tributary-agent",
        abstract: "Lists cameras and microphones, and with --network cameras of the network.",
        discussion: """
            Shows the stable name of each device (for --video and --audio), its capabilities, and the processes that have it \
            open, as far as this user can see them. Devices are opened briefly; their settings are not changed.

            --network sends a search (WS-Discovery) and asks the cameras that answer (ONVIF): model, clock, streams, and for \
            each stream the command that records it. Routers do not forward the search: name a camera of another network \
            with --camera. Only the host that answers is asked, and a login goes to it alone.
            """)

    @Flag(help: "Search the network for cameras.")
    var network = false

    @Option(
        help: ArgumentHelp(
            "Search on this network interface. (default: all that have multicast)",
            valueName: "name"))
    var interface: String?

    @Option(
        help: ArgumentHelp(
            "Ask the camera at this address; can be repeated.", valueName: "host[:port]"))
    var camera: [String] = []

    @Option(
        help: ArgumentHelp(
            """
            File with USER:PASSWORD for the cameras of the network, readable only by its owner. The password is sent as a \
            digest. Most cameras tell their streams only with a login.
            """, valueName: "file"))
    var cameraLogin: String?

    @Option(help: "Wait this long for answers to the search, from 1s to 60s.")
    var wait = TimeSpan(nanoseconds: 3_000_000_000)

    @Flag(help: "Print JSON.")
    var json = false

    private static let waits: ClosedRange<Int64> = 1_000_000_000...60_000_000_000

    func validate() throws {
        if interface != nil, !network {
            throw ValidationError("--interface is for --network: add that, or leave it out")
        }
        if cameraLogin != nil, !network, camera.isEmpty {
            throw ValidationError(
                "--camera-login is for --network and --camera: add one of them, or leave it out")
        }
        guard Self.waits.contains(wait.nanoseconds) else {
            throw ValidationError("--wait must be from 1s to 60s")
        }
    }

    func run() throws {
        var report = DeviceReport.ofThisMachine()
        if network || !camera.isEmpty { report.networkCameras = try networkCameras() }
        if json {
            try JSONOutput.print(report)
        } else {
            report.lines.forEach { print($0) }
        }
    }

    /// Searches, and asks the found and the named cameras.
    private func networkCameras() throws -> [DeviceReport.NetworkCamera] {
        let login = try cameraLogin.map { try CameraLoginFile.read($0) }
        var devices: [DiscoveredDevice] = []
        for place in camera {
            do throws(ONVIFError) {
                let service = try DeviceURL(deviceServiceOf: place)
                devices.append(
                    DiscoveredDevice(host: service.host, endpoint: "", service: service))
            } catch {
                throw UsageError("--camera \(place): \(error)")
            }
        }
        if network {
            do throws(DeviceSearch.Failure) {
                devices += try DeviceSearch.run(
                    interface: interface, waitNanoseconds: wait.nanoseconds
                ).devices
            } catch {
                throw Failure(error.description)
            }
        }
        let services = devices.compactMap(\.service)
        var answers = DeviceExamination.run(
            services, login: login, agent: Version.software("tributary-agent"))[...]
        var names = NetworkSourceNames()
        return devices.map { device in
            let facts = device.service == nil ? nil : answers.popFirst()
            return DeviceReport.NetworkCamera(
                device, facts, name: names.next(for: device, facts), loginFile: cameraLogin)
        }
    }
}
