//! Networks as people write them, and those nobody may be sent to unasked.
//!
//! Why    a step's address is often written by someone who may not reach what this server reaches: its own ports, the
//!        machines beside it, the cloud's metadata. IPv6 leads to IPv4 by several translations, each of which is refused
//!        as a whole.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

/// An address with the number of bits that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

impl Network {
    /// The network of one address.
    pub fn only(address: IpAddr) -> Network {
        Network { address, prefix: width(address) }
    }

    /// `10.0.0.0/8`, `fd00::/8`.
    pub fn read(text: &str) -> Result<Network, String> {
        let parsed = text.split_once('/').and_then(|(a, p)| Some((a.parse().ok()?, p.parse().ok()?)));
        let Some((address, prefix)) = parsed else {
            return Err(format!("`{text}` is not a network; write for example `10.0.0.0/8`"));
        };
        if prefix > width(address) {
            return Err(format!("`{text}`: the number after `/` is at most {}", width(address)));
        }
        let network = Network { address: masked(address, prefix), prefix };
        if network.address != address {
            return Err(format!("`{text}` is not the start of a network; write `{network}`"));
        }
        Ok(network)
    }

    pub fn contains(&self, address: IpAddr) -> bool {
        address.is_ipv4() == self.address.is_ipv4() && masked(address, self.prefix) == self.address
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn masked(address: IpAddr, prefix: u8) -> IpAddr {
    match address {
        IpAddr::V4(a) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
            Ipv4Addr::from_bits(a.to_bits() & mask).into()
        }
        IpAddr::V6(a) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or(0);
            Ipv6Addr::from_bits(a.to_bits() & mask).into()
        }
    }
}

/// The first network that holds the address names its kind.
const SPECIAL: [(&str, &str); 36] = [
    ("0.0.0.0/8", "unspecified"),
    ("10.0.0.0/8", "private"),
    ("100.64.0.0/10", "shared by a carrier"),
    ("127.0.0.0/8", "loopback"),
    ("168.63.129.16/32", "a cloud's own"),
    ("169.254.0.0/16", "link-local"),
    ("172.16.0.0/12", "private"),
    ("192.0.0.0/24", "reserved"),
    ("192.0.2.0/24", "documentation"),
    ("192.88.99.0/24", "6to4"),
    ("192.168.0.0/16", "private"),
    ("198.18.0.0/15", "benchmarking"),
    ("198.51.100.0/24", "documentation"),
    ("203.0.113.0/24", "documentation"),
    ("224.0.0.0/4", "multicast"),
    ("255.255.255.255/32", "broadcast"),
    ("240.0.0.0/4", "reserved"),
    ("::/128", "unspecified"),
    ("::1/128", "loopback"),
    ("::/96", "IPv4-compatible"),
    ("::ffff:0:0/96", "IPv4-mapped"),
    ("::ffff:0:0:0/96", "IPv4-translated"),
    ("64:ff9b::/96", "NAT64"),
    ("64:ff9b:1::/48", "NAT64"),
    ("100::/64", "discard"),
    ("2001::/32", "Teredo"),
    ("2001::/23", "reserved"),
    ("2001:db8::/32", "documentation"),
    ("2002::/16", "6to4"),
    ("3fff::/20", "documentation"),
    ("fc00::/7", "private"),
    ("fe80::/10", "link-local"),
    ("fec0::/10", "site-local"),
    ("ff00::/8", "multicast"),
    // What is left of IPv6 once the addresses in use are taken out.
    ("2000::/3", PUBLIC),
    ("::/0", "not in use"),
];

const PUBLIC: &str = "public";

static NETWORKS: LazyLock<Vec<(Network, &str)>> = LazyLock::new(|| {
    let read = |(text, kind)| (Network::read(text).expect("the table is well-formed"), kind);
    SPECIAL.into_iter().map(read).collect()
});

/// Why nobody is sent to this address unasked; none if it is an address like any other.
pub fn special(address: IpAddr) -> Option<&'static str> {
    let found = NETWORKS.iter().find(|(network, _)| network.contains(address));
    found.map(|(_, kind)| *kind).filter(|kind| *kind != PUBLIC)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_special_address_is_told() {
        let table = "
            0.0.0.0 unspecified              0.1.2.3 unspecified          10.0.0.1 private
            10.255.255.255 private           100.64.0.1 shared            100.127.255.255 shared
            100.100.100.200 shared           127.0.0.1 loopback           127.255.255.254 loopback
            168.63.129.16 cloud              169.254.169.254 link-local   172.16.0.1 private
            172.31.255.255 private           192.0.0.192 reserved         192.0.2.1 documentation
            192.88.99.1 6to4                 192.168.1.1 private          198.18.0.1 benchmarking
            198.19.255.255 benchmarking      198.51.100.7 documentation   203.0.113.9 documentation
            224.0.0.1 multicast              239.255.255.255 multicast    240.0.0.1 reserved
            255.255.255.255 broadcast        :: unspecified               ::1 loopback
            ::7f00:1 IPv4-compatible         ::ffff:127.0.0.1 IPv4-mapped ::ffff:8.8.8.8 IPv4-mapped
            ::ffff:0:127.0.0.1 translated    64:ff9b::7f00:1 NAT64        64:ff9b::808:808 NAT64
            64:ff9b:1::1 NAT64               100::1 discard               2001::1 Teredo
            2001:10::1 reserved              2001:20::1 reserved          2001:db8::1 documentation
            2002:7f00:1:: 6to4               2002:808:808::1 6to4         3fff::1 documentation
            fc00::1 private                  fd00:ec2::254 private        fe80::1 link-local
            febf::1 link-local               fec0::1 site-local           ff02::1 multicast
            4000::1 not-in-use               5f00::1 not-in-use           64:ff9b:2::1 not-in-use";
        let words: Vec<&str> = table.split_whitespace().collect();
        for pair in words.chunks(2) {
            let told = special(pair[0].parse().unwrap()).unwrap_or("public").replace(' ', "-");
            assert!(told.contains(pair[1]), "{} is {told}, not {}", pair[0], pair[1]);
        }
    }

    #[test]
    fn addresses_like_any_other_are_not_special() {
        let public =
            "1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0
            168.63.129.15 168.63.129.17 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 191.255.255.255
            192.0.1.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255
            2000::1 2001:200::1 2001:4860:4860::8888 2003::1 2606:4700::1111 3ffe::1 3fff:1000::1";
        for text in public.split_whitespace() {
            assert_eq!(special(text.parse().unwrap()), None, "{text}");
        }
    }

    #[test]
    fn a_network_is_read_as_written_or_told_how() {
        assert!(Network::read("0.0.0.0/0").unwrap().contains("9.9.9.9".parse().unwrap()));
        assert!(!Network::read("0.0.0.0/0").unwrap().contains("::1".parse().unwrap()));
        assert!(Network::read("::/0").unwrap().contains("::1".parse().unwrap()));
        assert!(Network::read("10.1.2.3/32").unwrap().contains("10.1.2.3".parse().unwrap()));
        assert_eq!(
            Network::read("10.1.2.3/8").unwrap_err(),
            "`10.1.2.3/8` is not the start of a network; write `10.0.0.0/8`"
        );
        assert_eq!(Network::read("::1/129").unwrap_err(), "`::1/129`: the number after `/` is at most 128");
        assert_eq!(
            Network::read("10.0.0/8").unwrap_err(),
            "`10.0.0/8` is not a network; write for example `10.0.0.0/8`"
        );
    }
}
