import CV4L2
import Files
import Glibc
package import Media

/// The machine's cameras.
package enum Cameras {
    private static let classFolder = "/sys/class/video4linux"
    private static let linkFolder = "/dev/v4l"

    /// All capture devices, in the order of the kernel's numbers. Opens each node briefly.
    package static func list() -> [CameraInfo] {
        let nodes = FileNames.inside(classFolder).filter { $0.hasPrefix("video") }
            .compactMap { name in Int(name.dropFirst(5)).map { (name, $0) } }
            .sorted { $0.1 < $1.1 }.map { "/dev/\($0.0)" }
        let links = Links()
        return nodes.compactMap { info(ofNode: $0, links) }
    }

    /// A camera's capabilities. Opens it briefly; nil when that fails.
    package static func abilities(
        of info: CameraInfo, interestingSizes sizes: [PictureSize]
    ) -> CameraAbilities? {
        do throws(KernelFault) {
            return try VideoNode(info.node).abilities(interestingSizes: sizes)
        } catch {
            return nil
        }
    }

    /// A camera's controls with their present values. Opens it briefly; empty when that fails.
    package static func controls(of info: CameraInfo) -> [CameraControl] {
        do throws(KernelFault) {
            return try VideoNode(info.node).controls()
        } catch {
            return []
        }
    }

    /// Their stable names.
    static func names() -> [String] { list().map(\.stableName) }

    /// Processes that have the node open, as far as this user may see them: "ffmpeg (process 812)".
    package static func holders(ofNode node: String) -> [String] {
        Holders.of(node)
    }

    // MARK: Queries

    /// The camera of a node; nil when it is none, or was disconnected.
    static func info(ofNode node: String) -> CameraInfo? { info(ofNode: node, Links()) }

    private static func info(ofNode node: String, _ links: Links) -> CameraInfo? {
        let number = Path.name(of: node)
        let folder = "\(classFolder)/\(number)"
        var identity = CameraIdentity(
            place: FileNames.resolved("\(folder)/device"), bus: "",
            index: TextFile.line("\(folder)/index").flatMap { Int($0) } ?? 0,
            card: TextFile.line("\(folder)/name") ?? number)
        // The directory of a USB interface is in that of its device, which has the vendor.
        if let device = identity.place.map({ "\($0)/.." }),
            let maker = TextFile.line("\(device)/idVendor"),
            let product = TextFile.line("\(device)/idProduct")
        {
            identity.model = "\(maker):\(product)"
            identity.serial = TextFile.line("\(device)/serial")
        }
        var info = CameraInfo(
            node: node, identity: identity, driver: "", byID: links.names(of: node, in: "by-id"),
            byPath: links.names(of: node, in: "by-path"))
        do throws(KernelFault) {
            let capability = try VideoNode(node).capability()
            if capability.isMultiplanarOnly {
                info.obstacle = "it delivers multi-planar buffers, which are not supported"
            } else if !capability.isCamera {
                return nil
            }
            info.driver = capability.driverName
            info.identity.bus = capability.busName
            info.identity.card = capability.cardName
        } catch {
            switch error.code {
            // Disconnected.
            case ENOENT, ENODEV, ENXIO, ENOTTY: return nil
            default: info.obstacle = DeviceError(opening: node, node: node, error).description
            }
        }
        return info
    }

    /// udev's names for nodes.
    private struct Links {
        private var names: [String: [(name: String, node: String)]] = [:]

        init() {
            for folder in ["by-id", "by-path"] {
                let path = "\(Cameras.linkFolder)/\(folder)"
                names[folder] = FileNames.inside(path).sorted().compactMap { name in
                    FileNames.resolved("\(path)/\(name)").map { (name, $0) }
                }
            }
        }

        func names(of node: String, in folder: String) -> [String] {
            (names[folder] ?? []).filter { $0.node == node }.map(\.name)
        }
    }
}

extension DeviceError {
    /// The error for a node that could not be opened.
    init(opening name: String, node: String, _ fault: KernelFault) {
        switch fault.code {
        case EBUSY: self = .cameraBusy(name, holder: Cameras.holders(ofNode: node).first)
        case EACCES, EPERM: self = .cameraDenied(name)
        case ENOENT, ENODEV, ENXIO: self = .noCamera(name, available: Cameras.names())
        default: self = .cameraRefused(name, reason: fault.reason)
        }
    }
}
