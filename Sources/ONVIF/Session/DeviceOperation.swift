/// A question to a camera.
enum DeviceOperation: Hashable {
    case clock
    case information
    case services
    /// Only of cameras without a list of services.
    case capabilities
    case profiles(DeviceMedia)
    case streamURI(DeviceMedia, token: String)

    private static let device = "http://www.onvif.org/ver10/device/wsdl"
    private static let schema = "http://www.onvif.org/ver10/schema"

    var name: String {
        switch self {
        case .clock: "GetSystemDateAndTime"
        case .information: "GetDeviceInformation"
        case .services: "GetServices"
        case .capabilities: "GetCapabilities"
        case .profiles: "GetProfiles"
        case .streamURI: "GetStreamUri"
        }
    }

    private var namespace: String {
        switch self {
        case .clock, .information, .services, .capabilities: Self.device
        case .profiles(let media), .streamURI(let media, _): media.version.namespace
        }
    }

    var action: String { "\(namespace)/\(name)" }

    /// The element of the request.
    var body: String {
        let content: String
        switch self {
        case .clock, .information: content = ""
        case .services: content = "<q:IncludeCapability>false</q:IncludeCapability>"
        case .capabilities: content = "<q:Category>Media</q:Category>"
        case .profiles(let media):
            switch media.version {
            case .first: content = ""
            case .second: content = "<q:Type>VideoEncoder</q:Type><q:Type>AudioEncoder</q:Type>"
            }
        case .streamURI(let media, let token):
            let profile = "<q:ProfileToken>\(SOAPEnvelope.escaped(token))</q:ProfileToken>"
            switch media.version {
            case .first:
                content = """
                    <q:StreamSetup><t:Stream xmlns:t="\(Self.schema)">RTP-Unicast</t:Stream>\
                    <t:Transport xmlns:t="\(Self.schema)"><t:Protocol>RTSP</t:Protocol></t:Transport>\
                    </q:StreamSetup>\(profile)
                    """
            case .second: content = "<q:Protocol>RTSP</q:Protocol>\(profile)"
            }
        }
        return "<q:\(name) xmlns:q=\"\(namespace)\">\(content)</q:\(name)>"
    }
}

/// A camera's media service.
struct DeviceMedia: Hashable {
    enum Version: Hashable {
        /// ONVIF Media Service Specification; it has no H.265.
        case first
        /// ONVIF Media 2 Service Specification.
        case second

        var namespace: String {
            switch self {
            case .first: "http://www.onvif.org/ver10/media/wsdl"
            case .second: "http://www.onvif.org/ver20/media/wsdl"
            }
        }
    }

    var version: Version
    var url: DeviceURL
}
