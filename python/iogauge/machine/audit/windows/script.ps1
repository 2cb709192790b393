# Reads the settings of this machine that change the latency of a disk, and writes them as JSON. It changes nothing.
#
#   powershell -NoProfile -ExecutionPolicy Bypass -File .\audit.ps1 -Disk 1 -OutFile audit.json
#
# -Disk N    the disk whose driver and link are read, by the number that Get-Disk shows; needless with a single disk
# -OutFile   the file to write, which must not exist; without it the JSON goes to the standard output
#
# Then, where iogauge is installed:  iogauge audit --import audit.json
#
# Windows PowerShell 5.1 or newer. Run it as administrator to read all: what needs that is marked below.
param(
    [string]$Disk = '',
    [string]$OutFile = ''
)
$ErrorActionPreference = 'Stop'
$registry = [Microsoft.Win32.RegistryKey]::OpenBaseKey('LocalMachine', 'Registry64')  # also from a 32-bit PowerShell

function Read-Fact([string]$Id, [scriptblock]$Reading) {
    # Returns the values, or the reason why there are none: Windows has no such thing, or it could not be read.
    $fact = [ordered]@{ id = $Id }
    try {
        [string[]]$values = @(& $Reading | Where-Object { $null -ne $_ } | ForEach-Object { [string]$_ })
        if ($values.Count -eq 0) { throw 'Windows returned nothing' }
        $fact['values'] = $values
    }
    catch [System.Collections.Generic.KeyNotFoundException] { $fact['missing'] = $_.Exception.Message }
    catch {
        $reason = $_.Exception.Message
        if (-not $elevated) { $reason = 'not run as administrator: ' + $reason }
        $fact['problem'] = $reason
    }
    return [pscustomobject]$fact
}
function Get-Missing([string]$Text) {
    return [System.Collections.Generic.KeyNotFoundException]::new($Text)
}
function Read-Key([string]$Key, [string]$Name) {
    $opened = $registry.OpenSubKey($Key)  # to read only
    if ($null -eq $opened) { throw (Get-Missing 'there is no such registry key') }
    $value = $opened.GetValue($Name)
    $opened.Close()
    if ($null -eq $value) { throw (Get-Missing 'the registry value is not set') }
    return $value
}
function Read-Registry([string]$Key, [string]$Name) {
    return Read-Key $Key $Name
}
function Get-PowerNumbers([string]$Command, [string]$Subgroup, [string]$Setting) {
    # The numbers at the ends of lines; the last two are the values on mains and on battery, in every language.
    $ErrorActionPreference = 'Continue'
    foreach ($line in @(& powercfg.exe $Command SCHEME_CURRENT $Subgroup $Setting 2>$null)) {
        if ($line -match '(0x[0-9a-fA-F]{1,8})\s*$') { $Matches[1] }
    }
}
function Read-PowerSetting([string]$Subgroup, [string]$Setting) {
    $numbers = @(Get-PowerNumbers '/query' $Subgroup $Setting)
    if ($numbers.Count -lt 2) { $numbers = @(Get-PowerNumbers '/qh' $Subgroup $Setting) }  # hidden ones, too
    if ($numbers.Count -ge 2) { return $numbers }
    $settings = 'SYSTEM\CurrentControlSet\Control\Power\PowerSettings\'
    foreach ($key in @(($settings + $Subgroup + '\' + $Setting), ($settings + $Setting))) {
        $opened = $registry.OpenSubKey($key)
        if ($null -ne $opened) { throw 'powercfg does not show this setting' }
    }
    throw (Get-Missing 'Windows has no such power setting')
}
function Read-Scheme {
    $ErrorActionPreference = 'Continue'
    $text = [string](& powercfg.exe /getactivescheme 2>$null)
    if ($text -match '[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}') { return $Matches[0] }
    throw 'powercfg names no active scheme'
}
function Read-Service([string]$Name) {
    $service = Get-CimInstance -ClassName Win32_Service -Filter ("Name='" + $Name + "'")
    if ($null -eq $service) { throw (Get-Missing 'there is no such service') }
    return $service.StartMode + ', ' + $service.State
}
function Read-Task([string]$Folder, [string]$Name) {
    return (Get-ScheduledTask -TaskPath $Folder -TaskName $Name -ErrorAction Stop).State
}
function Read-Cim([string]$Namespace, [string]$Class, [string]$Property) {
    $instances = @(Get-CimInstance -Namespace $Namespace -ClassName $Class)
    if ($instances.Count -eq 0) { throw (Get-Missing 'Windows lists none') }
    foreach ($instance in $instances) {
        $value = $instance.$Property
        if ($value -is [array]) { $value -join ' ' } else { $value }
    }
}
function Read-Uptime {
    $started = (Get-CimInstance -ClassName Win32_OperatingSystem).LastBootUpTime
    return [long]([DateTime]::Now - $started).TotalSeconds
}
function Read-Administrator {
    return $elevated
}
function Read-Protection {
    return (Get-MpComputerStatus -ErrorAction Stop).RealTimeProtectionEnabled
}
function Get-Drive {
    if ($null -eq $drive) { throw $undecided }
    return $drive
}
function Read-Drive([string]$Property) {
    return (Get-Drive).$Property
}
function Get-Physical {
    $index = [string](Get-Drive).Index
    $physical = Get-PhysicalDisk -ErrorAction Stop | Where-Object { [string]$_.DeviceId -eq $index }
    if ($null -eq $physical) { throw 'Windows lists no physical disk of this number' }
    return $physical
}
function Read-PhysicalDisk([string]$Property) {
    $index = [string](Get-Drive).Index
    $filter = "DeviceId='" + $index + "'"
    $storage = 'root\Microsoft\Windows\Storage'
    $physical = Get-CimInstance -Namespace $storage -ClassName MSFT_PhysicalDisk -Filter $filter
    if ($null -eq $physical) { throw 'Windows lists no physical disk of this number' }
    return $physical.$Property
}
function Read-Advanced([string]$Property) {
    return (Get-StorageAdvancedProperty -PhysicalDisk (Get-Physical) -ErrorAction Stop).$Property
}
function Read-DriveRegistry([string]$Key, [string]$Name) {
    return Read-Key ('SYSTEM\CurrentControlSet\Enum\' + (Get-Drive).PNPDeviceID + '\' + $Key) $Name
}
function Read-Property([string]$Device, [string]$Key) {
    $data = (Get-PnpDeviceProperty -InstanceId $Device -KeyName $Key -ErrorAction Stop).Data
    if ($null -eq $data) { throw (Get-Missing 'the device has no such property') }
    return $data
}
function Get-Controller {
    return Read-Property (Get-Drive).PNPDeviceID 'DEVPKEY_Device_Parent'
}
function Read-Controller([string]$Key) {
    return Read-Property (Get-Controller) $Key
}
function Read-ControllerRegistry([string]$Key, [string]$Name) {
    return Read-Key ('SYSTEM\CurrentControlSet\Enum\' + (Get-Controller) + '\' + $Key) $Name
}

$user = [Security.Principal.WindowsPrincipal][Security.Principal.WindowsIdentity]::GetCurrent()
$elevated = $user.IsInRole([Security.Principal.WindowsBuiltInRole]::Administrator)
$drive = $null
$undecided = ''
$drives = @()
try { $drives = @(Get-CimInstance -ClassName Win32_DiskDrive | Sort-Object -Property Index) }
catch { $undecided = 'the disks could not be listed: ' + $_.Exception.Message }
$names = @($drives | ForEach-Object { [string]$_.Index + ' ' + $_.Model }) -join ', '
if ($undecided -eq '') {
    if ($Disk -ne '') { $drive = $drives | Where-Object { [string]$_.Index -eq $Disk } }
    elseif ($drives.Count -eq 1) { $drive = $drives[0] }
    else { $undecided = 'name a disk with -Disk: ' + $names }
    if ($Disk -ne '' -and $null -eq $drive) {
        [Console]::Error.WriteLine('there is no disk ' + $Disk + '; disks: ' + $names)
        exit 2
    }
}
$facts = @(
FACTS
)
$number = $null
if ($null -ne $drive) { $number = [string]$drive.Index }
$invariant = [Globalization.CultureInfo]::InvariantCulture
$audit = [ordered]@{
    format = 'iogauge windows audit'
    version = 1
    note = 'settings that change the latency of a disk; iogauge audit --import FILE judges them'
    at = [DateTime]::UtcNow.ToString("yyyy-MM-dd'T'HH:mm:ss'+00:00'", $invariant)
    disk = $number
    facts = $facts
}
$json = ConvertTo-Json -InputObject $audit -Depth 5
# ASCII only, so that it is the same in every encoding that the standard output may have.
$json = [regex]::Replace($json, '[^\x00-\x7F]', { param($character) '\u{0:x4}' -f [int][char]$character.Value })
if ($OutFile -eq '') { return $json }
$path = $ExecutionContext.SessionState.Path.GetUnresolvedProviderPathFromPSPath($OutFile)
try { $stream = [System.IO.File]::Open($path, 'CreateNew', 'Write') }  # fails if the file exists
catch {
    [Console]::Error.WriteLine($path + ': ' + $_.Exception.Message)
    exit 1
}
$bytes = [System.Text.Encoding]::ASCII.GetBytes($json)
$stream.Write($bytes, 0, $bytes.Length)
$stream.Close()
