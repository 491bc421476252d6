import Wire

/// A camera with controls. Any thread, also while another captures from it.
protocol ControlledDevice: Sendable {
    /// The available controls.
    func controls() throws(CaptureError) -> [DeviceControl]
    /// Sets them in this order. When it throws, some of them may have been set.
    func set(_ settings: [CaptureChange.Setting]) throws(CaptureError)
}
