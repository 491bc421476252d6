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
            with --camera. Only the host that answers is asked, whatever addresses it states. A camera that states addresses \
            with and without TLS is asked without it: name it with --camera https://HOST for TLS.

            With --network, the login goes as a digest to every device that answers and wants one. A hostile device can guess \
            a weak password from it, or use it at a camera with the same login: on a network that you do not trust, name the \
            cameras with --camera.
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
            "Ask the camera at this address, HOST[:PORT] or https://HOST[:PORT]; can be repeated.",
            valueName: "address"))
    var camera: [String] = []

    @Option(
        help: ArgumentHelp(
            """
            File with USER:PASSWORD for the cameras of the network, readable only by its owner. The password is sent as a \
            digest. Most cameras tell their streams only with a login.
            """, valueName: "file"))
    var cameraLogin: String?

    @Option(
        help: ArgumentHelp(
            """
            PEM file with the authorities that have signed the cameras' certificates, for https://. (default: those of the \
            system)
            """, valueName: "file"))
    var cameraCa: String?

    @Option(
        help: ArgumentHelp(
            """
            SHA-256 fingerprint of a camera's certificate, for https://, instead of an authority: 64 hexadecimal digits; can be \
            repeated. Cameras with other certificates are not asked.
            """, valueName: "sha256"))
    var cameraFingerprint: [CertificateFingerprint] = []

    @Option(help: "Wait this long for answers to the search, from 1s to 60s. (default: 3s)")
    var wait: TimeSpan?

    @Flag(help: "Print JSON.")
    var json = false

    private static let usualWait = TimeSpan(nanoseconds: 3_000_000_000)
    private static let waits: ClosedRange<Int64> = 1_000_000_000...60_000_000_000

    func validate() throws {
        if interface != nil, !network {
            throw ValidationError("--interface is for --network: add that, or leave it out")
        }
        if cameraLogin != nil, !network, camera.isEmpty {
            throw ValidationError(
                "--camera-login is for --network and --camera: add one of them, or leave it out")
        }
        if cameraCa != nil || !cameraFingerprint.isEmpty {
            if !network, camera.isEmpty {
                throw ValidationError(
                    "--camera-ca and --camera-fingerprint are for --network and --camera: add one of them, or leave them out"
                )
            }
            if cameraCa != nil, !cameraFingerprint.isEmpty {
                throw ValidationError(
                    "--camera-ca and --camera-fingerprint cannot be combined: leave one out")
            }
        }
        if wait != nil, !network {
            throw ValidationError("--wait is for --network: add that, or leave it out")
        }
        guard Self.waits.contains((wait ?? Self.usualWait).nanoseconds) else {
            throw ValidationError("--wait must be from 1s to 60s")
        }
    }

    func run() throws {
        var report = DeviceReport.ofThisMachine()
        var failure: String?
        if network || !camera.isEmpty {
            let found = try networkCameras()
            report.networkCameras = found.map(\.camera)
            failure = found.lazy.compactMap(\.failure).first
        }
        if json {
            try JSONOutput.print(report)
        } else {
            report.lines.forEach { print($0) }
        }
        if let failure { throw Failure(failure) }
    }

    /// Options of this command that the commands which record need, too.
    private var recordingOptions: DeviceReport.RecordingOptions {
        var trust: [String] = []
        if let cameraCa { trust = ["--camera-ca", cameraCa] }
        // Several fingerprints do not show which one is this camera's.
        if cameraFingerprint.count == 1 {
            trust = ["--camera-fingerprint", cameraFingerprint[0].description]
        }
        return DeviceReport.RecordingOptions(
            login: cameraLogin.map { ["--camera-login", $0] } ?? [], trust: trust)
    }

    /// Searches, and asks the found and the named cameras.
    /// - Returns: the named cameras first; with the failure of one that was named and cannot be used.
    private func networkCameras() throws -> [(
        camera: DeviceReport.NetworkCamera, failure: String?
    )] {
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
                    interface: interface, waitNanoseconds: (wait ?? Self.usualWait).nanoseconds
                ).devices
            } catch {
                throw Failure(error.description)
            }
        }
        let services = devices.compactMap(\.service)
        var answers = DeviceExamination.run(
            services, login: login,
            trust: CameraTrust(authorities: cameraCa, fingerprints: Set(cameraFingerprint)),
            agent: Version.software("tributary-agent"))[...]
        var names = NetworkSourceNames()
        return devices.enumerated().map { place, device in
            let facts = device.service == nil ? nil : answers.popFirst()
            let own = DeviceReport.NetworkCamera(
                device, facts, name: names.next(for: device, facts), options: recordingOptions)
            guard place < camera.count, let facts else { return (own, nil) }
            guard facts.isAnswered else {
                let reason = facts.problem ?? "it does not answer"
                return (
                    own, "--camera \(camera[place]): \(reason); check the address and the port"
                )
            }
            return (own, facts.problem.map { "--camera \(camera[place]): \($0)" })
        }
    }
}
