package import Media

/// Frames from a device, and the driver's last reading.
package struct AudioChunk: Sendable {
    /// Number of the first frame since the device was started, lost ones included.
    package var firstFrame: Int64
    /// Without a capture time, which an ``AudioClock`` determines.
    package var sound: RawAudio
    /// The number of frames captured by a time.
    package var reading: AudioReading

    package init(firstFrame: Int64, sound: RawAudio, reading: AudioReading) {
        self.firstFrame = firstFrame
        self.sound = sound
        self.reading = reading
    }
}

/// The result of a read.
package enum AudioInputEvent: Sendable {
    /// Frames. If their first number does not follow the previous chunk, those in between are lost.
    case sound(AudioChunk)
    /// No audio arrived before the timeout.
    case idle
    /// The device stopped and was restarted; its frames are counted from 0, and the loss can only be derived from
    /// times. The text is the reason.
    case restarted(String)
}

/// An open audio device; capture belongs to one thread.
package protocol AudioInput: AnyObject {
    /// Layout of its audio.
    var layout: AudioLayout { get }
    /// The device, in a few words.
    var summary: String { get }
    /// Starts to capture.
    func start() throws(DeviceError)
    /// Waits for audio, up to the timeout.
    func read(timeoutMilliseconds: Int) throws(DeviceError) -> AudioInputEvent
}

/// The requested format of an audio device.
package struct AudioRequest: Hashable, Sendable {
    /// Frames per second; the device's nearest is used.
    package var sampleRate: Int
    /// The device's nearest number is used.
    package var channels: Int

    package init(sampleRate: Int, channels: Int) {
        self.sampleRate = sampleRate
        self.channels = channels
    }
}
